import { isObject, type Json, type JsonObject } from '../../contract/json';
import { findReference } from '../../contract/schema/reference';
import { guidanceIn } from '../../contract/schema/standard';
import { limitsOf } from './limits';

/**
 * The kind of input for a value. `nothing` stands for null. A `union` is one of several kinds. `json` works for every
 * schema.
 */
type FieldKind =
  | ('text' | 'lines' | 'date' | 'number' | 'integer' | 'boolean' | 'choice' | 'nothing')
  | ('list' | 'object' | 'union' | 'json');

/** How one value of the arguments is edited. */
export interface Field {
  kind: FieldKind;
  /** The title in the schema, or else the name. */
  label: string;
  description?: string;
  required: boolean;
  /** Only with `choice`: the values to choose from. */
  options?: Json[];
  /** Only with `object`: the fields in the order of the schema. */
  fields?: { name: string; field: Field }[];
  /** Only with `list`: how each item is edited. */
  item?: Field;
  /** Only with `union`: the kinds that the value may have. The label of each says which kind it is. */
  variants?: Field[];
  /** The limits of the value, in words. */
  limits?: string;
  /** The most characters of a text, if the schema limits them. */
  mostCharacters?: number;
  /** The first value of a new entry. */
  initial: Json;
}

interface SchemaPosition {
  root: JsonObject;
  name: string;
  required: boolean;
  depth: number;
  /** The number of fields that the form may still get. */
  budget: { left: number };
}

/** Values on deeper levels, and fields beyond this number, are edited as JSON, because a schema may contain itself. */
const MOST_LEVELS = 8;
const MOST_FIELDS = 500;

function positionOf(root: JsonObject): SchemaPosition {
  return { root, name: '', required: true, depth: 0, budget: { left: MOST_FIELDS } };
}

/**
 * The form of a tool's arguments. If a form cannot show the schema as an object or a choice, each argument becomes a
 * field for JSON.
 */
export function formOf(schema: JsonObject | undefined, value: JsonObject): Field {
  const root = schema ?? {};
  const field = fieldOf(root, positionOf(root));
  if (field.kind === 'object' || field.kind === 'union') return field;
  return withUnnamed({ kind: 'object', label: '', required: true, fields: [], initial: {} }, value);
}

/** Adds a field for JSON for each value that the schema does not name, so that the form shows all values. */
export function withUnnamed(form: Field, value: Json | undefined): Field {
  const fields = form.fields ?? [];
  const known = new Set(fields.map(({ name }) => name));
  const unnamed = isObject(value) ? Object.keys(value).filter((name) => !known.has(name)) : [];
  const others = unnamed.map((name): { name: string; field: Field } => {
    return { name, field: { kind: 'json', label: name, required: false, initial: null } };
  });
  return { ...form, fields: [...fields, ...others] };
}

function fieldOf(given: unknown, place: SchemaPosition): Field {
  const schema = follow(given, place);
  const { title, description } = schema;
  const isOver = place.depth > MOST_LEVELS || --place.budget.left < 0;
  const shape = isOver ? ({ kind: 'json', initial: null } as const) : shapeOf(schema, place);
  const initial = isJson(schema['default']) ? schema['default'] : shape.initial;
  return {
    ...shape,
    label: textOf(title) ?? place.name,
    required: place.required,
    initial,
    description: textOf(description),
    limits: limitsOf(schema),
  };
}

/** A text that is not empty. */
function textOf(value: unknown) {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Shape = Pick<Field, 'kind' | 'initial' | 'options' | 'fields' | 'item' | 'variants' | 'mostCharacters'>;

function shapeOf(schema: Record<string, unknown>, place: SchemaPosition): Shape {
  const { enum: options, const: only, type } = schema;
  if (Array.isArray(options) && options.every(isJson))
    return { kind: 'choice', options, initial: options[0] ?? null };
  if (only !== undefined && only !== null && isJson(only))
    return { kind: 'choice', options: [only], initial: only };
  if (type === 'null' || only === null) return { kind: 'nothing', initial: null };
  const branches = schema['properties'] === undefined ? branchesOf(schema, place) : [];
  if (branches.length > 0) return unionShape(branches, place);
  const kind: unknown = type ?? (isObject(schema['properties']) && 'object');
  switch (kind) {
    case 'string':
      return textShape(schema);
    case 'number':
    case 'integer':
      return { kind, initial: firstNumber(schema) };
    case 'boolean':
      return { kind: 'boolean', initial: false };
    case 'array':
      return listShape(schema, place);
    case 'object':
      return objectShape(schema, place);
    default:
      return { kind: 'json', initial: null };
  }
}

function textShape(schema: Record<string, unknown>): Shape {
  const most = schema['maxLength'];
  const kind = schema['format'] === 'date' ? 'date' : isLong(schema) ? 'lines' : 'text';
  return { kind, initial: '', mostCharacters: typeof most === 'number' ? most : undefined };
}

function firstNumber({ minimum }: Record<string, unknown>) {
  return typeof minimum === 'number' && Math.abs(minimum) < Number.MAX_SAFE_INTEGER ? minimum : 0;
}

/**
 * The schemas in a choice: a value has to fit one of them. A choice inside the choice is replaced by its own schemas.
 * Empty if the schema is not a choice.
 */
function branchesOf(schema: Record<string, unknown>, place: SchemaPosition): Record<string, unknown>[] {
  const { anyOf, oneOf, type } = schema;
  const given = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (given === undefined)
    return Array.isArray(type) && type.length > 1 ? type.map((one) => ({ ...schema, type: one })) : [];
  return given.flatMap((one) => {
    const branch = follow(one, place);
    const isOver = place.depth > MOST_LEVELS || --place.budget.left < 0;
    const inner = isOver ? [] : branchesOf(branch, { ...place, depth: place.depth + 1 });
    return inner.length === 0 ? [branch] : inner;
  });
}

/** The form of a choice between schemas. If each schema is a fixed value, the form is a single choice. */
function unionShape(branches: readonly Record<string, unknown>[], place: SchemaPosition): Shape {
  const below = { ...place, name: '', depth: place.depth + 1 };
  const variants = branches.map((branch) => fieldOf(branch, below));
  const initial = variants[0]?.initial ?? null;
  const options = variants.flatMap(({ kind, options = [null] }) =>
    kind === 'choice' || kind === 'nothing' ? options : [],
  );
  if (variants.every(({ kind }) => kind === 'choice' || kind === 'nothing'))
    return { kind: 'choice', options, initial };
  return { kind: 'union', variants: distinct(variants), initial };
}

const KIND_LABELS: Readonly<Partial<Record<FieldKind, string>>> = {
  date: 'a date',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'yes or no',
  nothing: 'nothing',
  list: 'a list',
  object: 'an object',
  json: 'JSON',
};

/** Variants with labels that differ: by their limits, or by their positions. */
function distinct(variants: readonly Field[]): Field[] {
  const isAlone = (label: string, all: readonly string[]) => all.indexOf(label) === all.lastIndexOf(label);
  const named = variants.map((variant) => ({ ...variant, label: variantLabel(variant) }));
  const kinds = named.map(({ label }) => label);
  const labels = named.map(({ label, limits = label }) => (isAlone(label, kinds) ? label : limits));
  return named.map((variant, index) => {
    const label = labels[index] ?? '';
    return { ...variant, label: isAlone(label, labels) ? label : `${label} (${index + 1})` };
  });
}

/** The label of a variant: its title, the fixed values that only it has, or its kind. */
function variantLabel({ label, kind, options = [], fields = [] }: Field) {
  if (label !== '') return label;
  const fixed = fields.flatMap(({ field }) => (isFixed(field) ? (field.options ?? []) : []));
  const values = kind === 'choice' ? options.slice(0, 3) : fixed;
  if (values.length > 0)
    return values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(', ');
  if (kind === 'object' && fields.length > 0)
    return `with ${fields
      .map(({ name }) => name)
      .slice(0, 3)
      .join(', ')}`;
  return KIND_LABELS[kind] ?? 'text';
}

function isFixed({ kind, options = [] }: Field) {
  return kind === 'choice' && options.length === 1;
}

/**
 * The index of the variant that fits a value best, or the chosen variant if the value fits that one, too. -1: the value
 * does not fit any variant.
 */
export function variantOf(variants: readonly Field[], value: Json | undefined, chosen = -1): number {
  const fits = variants.map((variant) => fitOf(variant, value));
  if ((fits[chosen] ?? 0) > 0) return chosen;
  const best = Math.max(0, ...fits);
  return best === 0 ? -1 : fits.indexOf(best);
}

/** How well a value fits a field. 0: not at all. */
function fitOf(field: Field, value: Json | undefined): number {
  if (value === undefined) return 0;
  switch (field.kind) {
    case 'nothing':
      return value === null ? 2 : 0;
    case 'choice':
      return (field.options ?? []).some((option) => JSON.stringify(option) === JSON.stringify(value)) ? 3 : 0;
    case 'boolean':
      return typeof value === 'boolean' ? 2 : 0;
    case 'text':
    case 'lines':
    case 'date':
      return typeof value === 'string' ? 2 : 0;
    case 'integer':
    case 'number':
      if (typeof value !== 'number') return 0;
      return field.kind === 'number' ? 1 : Number.isInteger(value) ? 2 : 0.5;
    case 'list':
      if (!Array.isArray(value)) return 0;
      return value.length === 0 || field.item === undefined ? 1 : Math.max(0.1, fitOf(field.item, value[0]));
    case 'object':
      return isObject(value) ? objectFit(field, value) : 0;
    // Alternatives inside alternatives were merged into the outer ones, so only JSON is left here.
    default:
      return 0.01;
  }
}

/**
 * How well an object fits a variant. An object with another fixed value does not fit. Otherwise, an object fits better
 * the more fields it has in common.
 */
function objectFit({ fields = [] }: Field, value: JsonObject) {
  let score = 0;
  for (const { name, field } of fields) {
    const isThere = Object.hasOwn(value, name);
    const fits = isThere && fitOf(field, value[name]) > 0;
    if (isThere && !fits && isFixed(field)) return 0;
    score += fits ? 1 : isThere || field.required ? -1 : 0;
  }
  const unnamed = Object.keys(value).filter((name) => !fields.some((one) => one.name === name));
  return Math.max(0.1, 1 + (score - unnamed.length) / (1 + fields.length + unnamed.length));
}

/** The alternatives of a schema that has a choice, each with the field that edits it. */
export function alternativesOf(
  schema: Record<string, unknown>,
  root: JsonObject,
): { schema: Record<string, unknown>; field: Field }[] {
  const place = positionOf(root);
  return branchesOf(schema, place).map((branch) => ({ schema: branch, field: fieldOf(branch, place) }));
}

function listShape(schema: Record<string, unknown>, place: SchemaPosition): Shape {
  if (!isObject(schema['items']) || schema['prefixItems'] !== undefined) return { kind: 'json', initial: [] };
  const item = fieldOf(schema['items'], { ...place, name: '', required: true, depth: place.depth + 1 });
  return { kind: 'list', item, initial: [] };
}

/** The form of an object. An object with free names, or with a composed schema, is typed as JSON. */
function objectShape(schema: Record<string, unknown>, place: SchemaPosition): Shape {
  const { properties, allOf, oneOf, anyOf } = schema;
  const inParts = [allOf, oneOf, anyOf].some((part) => part !== undefined);
  if (!isObject(properties) || (inParts && place.depth > 0)) return { kind: 'json', initial: {} };
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const fields = Object.entries(properties).map(([name, property]) => ({
    name,
    field: fieldOf(property, { ...place, name, required: required.includes(name), depth: place.depth + 1 }),
  }));
  const needed = fields.filter(({ field }) => field.required);
  return {
    kind: 'object',
    fields,
    initial: Object.fromEntries(needed.map(({ name, field }) => [name, field.initial])),
  };
}

function isLong({ maxLength, format, contentMediaType }: Record<string, unknown>) {
  if (contentMediaType !== undefined || format === 'textarea') return true;
  return typeof maxLength === 'number' && maxLength > 200;
}

/** Follows references inside the schema. A broken or circular reference leads to an empty schema. */
export function follow(given: unknown, { root }: Pick<SchemaPosition, 'root'>): Record<string, unknown> {
  let schema = given;
  for (let hops = 0; hops < MOST_LEVELS; hops++) {
    if (!isObject(schema)) return {};
    const ref = schema['$ref'];
    if (typeof ref !== 'string') return guidanceIn(schema);
    schema = findReference(root, ref);
  }
  return {};
}

function isJson(value: unknown): value is Json {
  if (Array.isArray(value)) return value.every(isJson);
  return value === null || ['string', 'number', 'boolean'].includes(typeof value) || isObject(value);
}
