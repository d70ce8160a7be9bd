import { isObject, isSoundJson, type Json, type JsonObject } from '../../../contract/json';
import { checkSchema } from '../../../contract/schema';
import type { Issue, JsonSchema } from '../../../contract/tool';

/** A place in the arguments. */
export type Path = readonly (string | number)[];

/** Arguments that are being edited. */
export interface ArgumentsDraft {
  value: JsonObject;
  /** What was typed where it is no JSON yet, by pointer; the value there is the last good one. */
  texts: Readonly<Record<string, string>>;
}

/** The pointer of a place, as the schema's issues name it. */
export function pointerOf(path: Path): string {
  return path
    .map((part) => `/${encodeURI(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
}

/** The value at a place; undefined where there is none. */
export function valueAt(value: Json, path: Path): Json | undefined {
  let at: Json | undefined = value;
  for (const part of path) {
    if (Array.isArray(at)) at = at[Number(part)];
    else if (isJsonObject(at)) at = Object.hasOwn(at, part) ? at[String(part)] : undefined;
    else return undefined;
  }
  return at;
}

/** The draft with another value at a place; `undefined` takes it out. What was typed there and below is dropped. */
export function setAt(draft: ArgumentsDraft, path: Path, value: Json | undefined): ArgumentsDraft {
  const changed = replaced(draft.value, path, value);
  return { value: isJsonObject(changed) ? changed : {}, texts: textsOutside(draft.texts, pointerOf(path)) };
}

/** The draft after a text was typed as JSON: its value where it is JSON, else only the text. */
export function setText(draft: ArgumentsDraft, path: Path, text: string): ArgumentsDraft {
  const parsed = parseJson(text);
  const isWhole = path.length === 0;
  if (parsed === undefined || (isWhole && !isJsonObject(parsed))) {
    return { ...draft, texts: { ...draft.texts, [pointerOf(path)]: text } };
  }
  return setAt(draft, path, parsed);
}

/** The value of a JSON text that everything of ours can take; undefined for any other. */
export function parseJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isSoundJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A number as typed; the text itself where it is none, so that the schema says what is wrong with it. */
export function parseNumber(text: string): number | string {
  const trimmed = text.trim();
  const number = Number(trimmed);
  if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) || !Number.isFinite(number)) return text;
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number;
}

/** Everything that is wrong with a draft, by field. */
export function issuesOf({ value, texts }: ArgumentsDraft, schema: JsonSchema | undefined): Issue[] {
  const unparsed = Object.entries(texts).map(([path, text]) => ({ path, message: jsonProblem(path, text) }));
  return [...unparsed, ...(schema === undefined ? [] : checkSchema(schema, value).map(atField))];
}

function jsonProblem(path: string, text: string): string {
  return path === '' && parseJson(text) !== undefined ? 'has to be an object' : 'is not JSON';
}

const MISSING = /required property "(.+)"/;

/** A missing property is a matter of its own field, not of the object around it. */
export function atField(issue: Issue): Issue {
  const name = MISSING.exec(issue.message)?.[1];
  return name === undefined ? issue : { path: `${issue.path}${pointerOf([name])}`, message: 'is required' };
}

/** The issues of one place, without those below it. */
export function issuesAt(issues: readonly Issue[], path: Path): Issue[] {
  const pointer = pointerOf(path);
  return issues.filter((issue) => issue.path === pointer);
}

function textsOutside(texts: ArgumentsDraft['texts'], pointer: string): Record<string, string> {
  const outside = Object.entries(texts).filter(
    ([path]) => path !== '' && path !== pointer && !path.startsWith(`${pointer}/`),
  );
  return Object.fromEntries(outside);
}

function replaced(at: Json, [part, ...rest]: Path, value: Json | undefined): Json {
  if (part === undefined) return value ?? null;
  if (Array.isArray(at)) return inList(at, Number(part), (item) => next(item, rest, value));
  const object = isJsonObject(at) ? at : {};
  const name = String(part);
  const changed = next(Object.hasOwn(object, name) ? object[name] : undefined, rest, value);
  const others = Object.entries(object).filter(([key]) => key !== name);
  if (changed === undefined) return Object.fromEntries(others);
  if (!Object.hasOwn(object, name)) return Object.fromEntries([...others, [name, changed]]);
  return Object.fromEntries(Object.entries(object).map(([key, old]) => [key, key === name ? changed : old]));
}

function next(at: Json | undefined, rest: Path, value: Json | undefined): Json | undefined {
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

function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}
