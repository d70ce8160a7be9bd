import { CountersignError } from '../contract/errors';
import { isObject, type Json, type JsonObject } from '../contract/json';

/** One `--set path=value`. */
export interface Assignment {
  path: string[];
  value: Json;
}

/**
 * Reads `path=value`. The path is dotted, list places are numbers from 0 (`edits.0.new_text`), `\.` is a dot in a name.
 * The value is JSON where it is any (`3`, `true`, `"3"`, `[1]`), text otherwise.
 */
export function parseAssignment(text: string): Assignment {
  const at = text.indexOf('=');
  const path = at === -1 ? [] : splitPath(text.slice(0, at));
  if (path.length === 0 || path.includes('')) {
    throw usage(
      `--set ${text}: this is no path=value`,
      'Write --set amount=10 or --set edits.0.new_text=Hello.',
    );
  }
  return { path, value: parseValue(text.slice(at + 1)) };
}

/** The same arguments with one value set. Names that are missing are made; list places may be added at the end only. */
export function setArgument(args: JsonObject, { path, value }: Assignment): JsonObject {
  const changed = setIn(args, path, { value, path });
  if (isJsonObject(changed)) return changed;
  throw usage('--set needs a name first', 'Write --set amount=10.');
}

interface Goal {
  value: Json;
  /** The whole path, for messages. */
  path: readonly string[];
}

function setIn(target: Json | undefined, path: readonly string[], goal: Goal): Json {
  const [key, ...rest] = path;
  if (key === undefined) return goal.value;
  if (Array.isArray(target)) return setInList(target, [key, ...rest], goal);
  if (target === undefined) return { [key]: setIn(undefined, rest, goal) };
  if (!isJsonObject(target)) throw noPlace(goal, `${describe(target)} has no places to set`);
  // A computed key is always the object's own, `__proto__` too.
  return { ...target, [key]: setIn(Object.hasOwn(target, key) ? target[key] : undefined, rest, goal) };
}

function setInList(list: readonly Json[], [key = '', ...rest]: readonly string[], goal: Goal): Json {
  const at = /^\d+$/.test(key) ? Number(key) : NaN;
  if (Number.isNaN(at)) throw noPlace(goal, `'${key}' is no place in a list`);
  if (at > list.length) throw noPlace(goal, `the list has ${list.length} places, counted from 0`);
  const copy = [...list];
  copy[at] = setIn(list[at], rest, goal);
  return copy;
}

function splitPath(text: string): string[] {
  const parts: string[] = [''];
  for (const piece of text.match(/\\\.|\.|[^.\\]+|\\/g) ?? []) {
    if (piece === '.') parts.push('');
    else parts.push((parts.pop() ?? '') + (piece === '\\.' ? '.' : piece));
  }
  return parts;
}

function parseValue(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}

function describe(value: Json): string {
  return value === null ? 'null' : `a ${typeof value}`;
}

function noPlace({ path }: Goal, why: string): CountersignError {
  return usage(`--set ${path.join('.')}: ${why}`, '`countersign show <turn>/<call>` lists every path.');
}

function usage(message: string, hint: string): CountersignError {
  return new CountersignError('usage', message, { hint });
}
