import { isObject, type Json, type JsonObject, pointerOf } from '../../contract/json';
import { describeIssues, isNumberText, readJson, readNumber } from '../../contract/read-json';
import { isSchema } from '../../contract/schema/reference';
import { checkSchema, withDefaults } from '../../contract/schema/schema';
import type { Issue, JsonSchema } from '../../contract/tool';
import { alternativesOf, follow, variantOf } from './argument-form';
import { plainWords, saysLess } from './limits';

/** The path of a value in the arguments. */
export type Path = readonly (string | number)[];

/** Typed text that is not valid yet, with the reason. */
interface HalfTyped {
  text: string;
  problem: string;
}

/** Arguments that are being edited. */
export interface ArgumentsDraft {
  value: JsonObject;
  /** The texts that are not valid yet, by pointer. `value` has the last valid value. */
  texts: Readonly<Record<string, HalfTyped>>;
}

/** Whether a person has typed anything that differs from the arguments. */
export function isChanged({ value, texts }: ArgumentsDraft, from: JsonObject): boolean {
  return Object.keys(texts).length > 0 || JSON.stringify(value) !== JSON.stringify(from);
}

/** The value at a path. Undefined if the path leads nowhere. */
export function valueAt(value: Json, path: Path): Json | undefined {
  let at: Json | undefined = value;
  for (const part of path) {
    if (Array.isArray(at)) at = at[Number(part)];
    else if (isObject(at)) at = Object.hasOwn(at, part) ? at[String(part)] : undefined;
    else return undefined;
  }
  return at;
}

/**
 * The draft with another value at a path. `undefined` removes the value. Typed text at the path and below it is
 * dropped.
 */
export function setAt(draft: ArgumentsDraft, path: Path, value: Json | undefined): ArgumentsDraft {
  const changed = replaced(draft.value, path, value);
  const texts = textsOutside(draft.texts, pointerOf(path));
  return {
    value: isObject(changed) ? changed : {},
    texts: value === undefined ? movedUp(texts, draft.value, path) : texts,
  };
}

/** A draft as it was, and the path in it. */
type Earlier = readonly [draft: ArgumentsDraft, path: Path];

/** The draft with an earlier value at a path, and with the texts in that value that were not valid yet. */
export function putBack(draft: ArgumentsDraft, path: Path, [{ value, texts }, at]: Earlier): ArgumentsDraft {
  const [from, to] = [pointerOf(at), pointerOf(path)];
  const changed = setAt(draft, path, valueAt(value, at));
  const back = { ...changed.texts };
  for (const [pointer, text] of Object.entries(texts))
    if (isWithin(pointer, from)) back[to + pointer.slice(from.length)] = text;
  return { ...changed, texts: back };
}

/** Whether a path is the other path, or below it. Both are pointers. */
function isWithin(path: string, pointer: string) {
  return path === pointer || path.startsWith(`${pointer}/`);
}

/** The typed texts of a list after one of its items was removed: those of later items are one place further up. */
function movedUp(texts: ArgumentsDraft['texts'], from: Json, path: Path): ArgumentsDraft['texts'] {
  const list = path.slice(0, -1);
  if (!Array.isArray(valueAt(from, list))) return texts;
  const [head, removed] = [`${pointerOf(list)}/`, Number(path.at(-1))];
  return Object.fromEntries(
    Object.entries(texts).map(([pointer, text]) => {
      if (!pointer.startsWith(head)) return [pointer, text];
      const [index = '', ...rest] = pointer.slice(head.length).split('/');
      const place = Number(index) > removed ? Number(index) - 1 : index;
      return [head + [place, ...rest].join('/'), text];
    }),
  );
}

/** The draft after a text was typed as JSON: with its value if the text is valid, otherwise only with the text. */
export function setText(draft: ArgumentsDraft, path: Path, text: string): ArgumentsDraft {
  const read = readJson(text);
  const isWhole = path.length === 0;
  if (!read.ok) return withText(draft, path, { text, problem: describeIssues(read.issues) });
  if (isWhole && !isObject(read.value))
    return withText(draft, path, { text, problem: 'has to be an object' });
  return setAt(draft, path, read.value);
}

/**
 * The draft after a number was typed. A text that is not a number, or that cannot be kept exactly as one, is stored
 * beside the last valid value.
 */
export function setNumber(draft: ArgumentsDraft, path: Path, text: string): ArgumentsDraft {
  const value = readNumber(text);
  return value === undefined
    ? withText(draft, path, { text, problem: numberProblem(text) })
    : setAt(draft, path, value);
}

function numberProblem(text: string) {
  if (isNumberText(text)) return 'cannot be kept exactly as a number';
  const pointed = text.replace(',', '.').trim();
  return `has to be a number${isNumberText(pointed) ? ` with a point: ${pointed}` : ''}`;
}

function withText(draft: ArgumentsDraft, path: Path, typed: HalfTyped): ArgumentsDraft {
  return { ...draft, texts: { ...draft.texts, [pointerOf(path)]: typed } };
}

/** The issues of a draft, one for each field, so that their number is the number of fields to correct. */
export function issuesOf({ value, texts }: ArgumentsDraft, schema: JsonSchema | undefined): Issue[] {
  const unread = Object.entries(texts).map(([path, { problem }]) => ({ path, message: problem }));
  return oneForEach([...unread, ...(schema ? schemaIssues(schema, value) : [])]);
}

function schemaIssues(schema: JsonSchema, value: JsonObject): Issue[] {
  const whole = withDefaults(schema, value);
  const issues = checkSchema(schema, whole);
  if (issues.length === 0) return [];
  const narrowed = checkSchema(narrowSchema(schema, whole), whole);
  return fieldIssues(narrowed.length > 0 ? narrowed : issues);
}

/**
 * The schema as it applies to one value. Of several alternatives, only the one that the value fits is kept. So each
 * mistake is reported once, and at the fields that the person sees.
 */
function narrowSchema(root: JsonSchema, value: JsonObject): JsonSchema {
  const { $defs, definitions } = root;
  const narrowed = { $defs, definitions, ...narrow(root, value, root) };
  return isSchema(narrowed) ? narrowed : root;
}

function narrow(given: unknown, value: Json, root: JsonSchema): Record<string, unknown> {
  const schema = follow(given, { root });
  const alternatives = alternativesOf(schema, root);
  if (alternatives.length > 0) {
    const fields = alternatives.map(({ field }) => field);
    const one = alternatives[variantOf(fields, value)];
    if (one === undefined) return schema;
    const { anyOf: _, oneOf: __, type: ___, ...rest } = schema;
    return { allOf: [narrow(rest, value, root), narrow(one.schema, value, root)] };
  }
  const { properties, items, prefixItems } = schema;
  if (isObject(value) && isObject(properties)) {
    const parts = Object.entries(properties).map(([name, property]) => {
      const part = Object.hasOwn(value, name) ? value[name] : undefined;
      return [name, part === undefined ? property : narrow(property, part, root)];
    });
    return { ...schema, properties: Object.fromEntries(parts) };
  }
  if (Array.isArray(value) && isObject(items) && prefixItems === undefined)
    return { ...schema, prefixItems: value.map((item) => narrow(items, item, root)) };
  return schema;
}

/** Issues in the form in which they are shown: each at its field, one for each field, in plain words. */
export function fieldIssues(issues: readonly Issue[]): Issue[] {
  const first = issues.filter(({ message }) => !saysLess(message));
  const rest = issues.filter(({ message }) => saysLess(message));
  return oneForEach([...first, ...rest].map(atField));
}

function oneForEach(issues: readonly Issue[]): Issue[] {
  const first = new Map<string, Issue>();
  for (const issue of issues) if (!first.has(issue.path)) first.set(issue.path, issue);
  return [...first.values()];
}

const MISSING = /required property "(.+)"/;

/** Moves the issue of a missing property to the property itself, from the object around it. */
function atField({ path, message }: Issue): Issue {
  const name = MISSING.exec(message)?.[1];
  return name === undefined
    ? { path, message: plainWords(message) }
    : { path: `${path}${pointerOf([name])}`, message: 'is required' };
}

/** The issues of one path, without the issues of the paths below it. */
export function issuesAt(issues: readonly Issue[], path: Path): Issue[] {
  const pointer = pointerOf(path);
  return issues.filter((issue) => issue.path === pointer);
}

/** The issues of a path and of all paths below it. The paths in the result are relative to that path. */
export function issuesWithin(issues: readonly Issue[], path: Path): Issue[] {
  const pointer = pointerOf(path);
  return issues
    .filter((issue) => isWithin(issue.path, pointer))
    .map((issue) => ({ ...issue, path: issue.path.slice(pointer.length) }));
}

function textsOutside(texts: ArgumentsDraft['texts'], pointer: string): ArgumentsDraft['texts'] {
  const outside = Object.entries(texts).filter(([path]) => path !== '' && !isWithin(path, pointer));
  return Object.fromEntries(outside);
}

function replaced(at: Json, [part, ...rest]: Path, value: Json | undefined): Json {
  if (part === undefined) return value ?? null;
  if (Array.isArray(at)) return inList(at, Number(part), (item) => next(item, rest, value));
  const object = isObject(at) ? at : {};
  const name = String(part);
  const changed = next(Object.hasOwn(object, name) ? object[name] : undefined, rest, value);
  const others = Object.entries(object).filter(([key]) => key !== name);
  if (changed === undefined) return Object.fromEntries(others);
  if (!Object.hasOwn(object, name)) return Object.fromEntries([...others, [name, changed]]);
  return Object.fromEntries(Object.entries(object).map(([key, old]) => [key, key === name ? changed : old]));
}

function next(at: Json | undefined, rest: Path, value: Json | undefined) {
  return rest.length === 0 ? value : replaced(at ?? {}, rest, value);
}

function inList(
  list: readonly Json[],
  index: number,
  change: (item: Json | undefined) => Json | undefined,
): Json[] {
  const changed = change(list[index]);
  const before = list.slice(0, index);
  return [...before, ...(changed === undefined ? [] : [changed]), ...list.slice(index + 1)];
}
