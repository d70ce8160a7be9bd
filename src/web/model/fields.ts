import { defined } from '../../contract/defined';
import { isObject, type Json, type JsonObject } from '../../contract/json';

/** The kind of input for a value. `json` fits every schema. */
export type FieldKind =
  'text' | 'lines' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'object' | 'json';

/** How one value of the arguments is edited. */
export interface Field {
  kind: FieldKind;
  /** The title in the schema, else the name. */
  label: string;
  description?: string;
  required: boolean;
  /** With `choice`: the values. */
  options?: Json[];
  /** With `object`, in the schema's order. */
  fields?: { name: string; field: Field }[];
  /** With `list`: how each item is edited. */
  item?: Field;
  /** The value that a new one starts with. */
  initial: Json;
}

interface SchemaPosition {
  root: JsonObject;
  name: string;
  required: boolean;
  depth: number;
}

/** Deeper values are edited as JSON, because a schema may contain itself. */
const MOST_LEVELS = 8;

/** The form of a tool's arguments. Values that the schema does not name, and schemas that a form cannot show, become JSON. */
export function formOf(schema: JsonObject | undefined, value: JsonObject): Field {
  const root = schema ?? {};
  const field = fieldOf(root, { root, name: '', required: true, depth: 0 });
  if (field.kind === 'object') return withUnnamed(field, value);
  return withUnnamed({ kind: 'object', label: '', required: true, fields: [], initial: {} }, value);
}

function withUnnamed(form: Field, value: JsonObject): Field {
  const fields = form.fields ?? [];
  const known = new Set(fields.map(({ name }) => name));
  const unnamed = Object.keys(value).filter((name) => !known.has(name));
  return { ...form, fields: [...fields, ...unnamed.map((name) => ({ name, field: jsonField(name) }))] };
}

function jsonField(name: string): Field {
  return { kind: 'json', label: name, required: false, initial: null };
}

function fieldOf(given: unknown, place: SchemaPosition): Field {
  const schema = follow(given, place);
  const { title, description } = schema;
  const shape =
    place.depth > MOST_LEVELS ? ({ kind: 'json', initial: null } as const) : shapeOf(schema, place);
  const initial = isJson(schema['default']) ? schema['default'] : shape.initial;
  return {
    ...shape,
    label: textOf(title) ?? place.name,
    required: place.required,
    initial,
    ...defined({ description: textOf(description) }),
  };
}

/** A text that says something. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Shape = Pick<Field, 'kind' | 'initial' | 'options' | 'fields' | 'item'>;

function shapeOf(schema: Record<string, unknown>, place: SchemaPosition): Shape {
  const { enum: options, const: only, type } = schema;
  if (Array.isArray(options) && options.every(isJson))
    return { kind: 'choice', options, initial: options[0] ?? null };
  if (isJson(only)) return { kind: 'choice', options: [only], initial: only };
  switch (type) {
    case 'string':
      return { kind: isLong(schema) ? 'lines' : 'text', initial: '' };
    case 'number':
    case 'integer':
      return { kind: type, initial: typeof schema['minimum'] === 'number' ? schema['minimum'] : 0 };
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

function listShape(schema: Record<string, unknown>, place: SchemaPosition): Shape {
  if (!isObject(schema['items']) || schema['prefixItems'] !== undefined) return { kind: 'json', initial: [] };
  const item = fieldOf(schema['items'], { ...place, name: '', required: true, depth: place.depth + 1 });
  return { kind: 'list', item, initial: [] };
}

/** An object with free names, or with a composed schema, is typed as JSON. */
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

function isLong({ maxLength, format, contentMediaType }: Record<string, unknown>): boolean {
  if (contentMediaType !== undefined || format === 'textarea') return true;
  return typeof maxLength === 'number' && maxLength > 200;
}

/** Follows references within the schema; a broken or circular one gives an empty schema. */
function follow(given: unknown, { root }: SchemaPosition): Record<string, unknown> {
  let schema = given;
  for (let hops = 0; hops < MOST_LEVELS; hops++) {
    if (!isObject(schema)) return {};
    const ref = schema['$ref'];
    if (typeof ref !== 'string') return schema;
    schema = ref.startsWith('#/') ? ref.slice(2).split('/').reduce(stepInto, root) : {};
  }
  return {};
}

function stepInto(at: unknown, part: string): unknown {
  const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
  return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
}

function isJson(value: unknown): value is Json {
  if (Array.isArray(value)) return value.every(isJson);
  return value === null || ['string', 'number', 'boolean'].includes(typeof value) || isObject(value);
}
