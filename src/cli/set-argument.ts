import { usageError } from '../contract/errors';
import { isObject, parseJson, type Json, type JsonObject } from '../contract/json';
import { readJson, describeIssues } from '../contract/read-json';

/** One `--set path=value`. */
export interface Assignment {
  path: string[];
  value: Json;
}

/**
 * Reads `path=value`. The path has dots between names, list positions are numbers from 0 (`edits.0.new_text`), and `\.`
 * is a dot in a name. The value is JSON if it can be read as JSON (`3`, `true`, `"3"`, `[1]`), text otherwise.
 *
 * @throws CountersignError `usage`, also for JSON whose value would change when it is read.
 */
function parseAssignment(text: string): Assignment {
  const at = text.indexOf('=');
  const path = at === -1 ? [] : splitPath(text.slice(0, at));
  if (path.length === 0 || path.includes('')) {
    throw usageError(
      `--set ${text}: this is not path=value`,
      'Write --set amount=10 or --set edits.0.new_text=Hello.',
    );
  }
  return { path, value: parseValue(text, at + 1) };
}

/**
 * Reads every `--set` of a command line.
 *
 * @throws CountersignError `usage`, also if two options set the same place, because one of them must be a mistake.
 */
export function parseAssignments(texts: readonly string[]): Assignment[] {
  const firsts = new Map<string, string>();
  return texts.map((text) => {
    const assignment = parseAssignment(text);
    const place = JSON.stringify(assignment.path);
    const first = firsts.get(place);
    if (first !== undefined)
      throw usageError(`--set ${first} and --set ${text} set the same place`, 'Leave out one of them.');
    firsts.set(place, text);
    return assignment;
  });
}

/** The arguments with one value set. Missing names are added. In a list, a new place may be added only at the end. */
export function setArgument(args: JsonObject, assignment: Assignment): JsonObject {
  const changed = setIn(args, assignment.path, assignment);
  if (isObject(changed)) return changed;
  throw usageError('--set needs a name first', 'Write --set amount=10.');
}

/** Sets the value below `target`, at the path that is left. `whole`: the complete assignment, for error messages. */
function setIn(target: Json | undefined, [key, ...rest]: readonly string[], whole: Assignment): Json {
  if (key === undefined) return whole.value;
  if (Array.isArray(target)) return setInList(target, [key, ...rest], whole);
  if (target === undefined) return { [key]: setIn(undefined, rest, whole) };
  if (!isObject(target))
    throw noPlace(whole, `${target === null ? 'null' : `a ${typeof target}`} has no places to set`);
  // A computed key always becomes the object's own property, even `__proto__`.
  return { ...target, [key]: setIn(Object.hasOwn(target, key) ? target[key] : undefined, rest, whole) };
}

function setInList(list: readonly Json[], [key = '', ...rest]: readonly string[], whole: Assignment): Json {
  const at = /^\d+$/.test(key) ? Number(key) : NaN;
  if (Number.isNaN(at)) throw noPlace(whole, `'${key}' is not a place in a list`);
  if (at > list.length) throw noPlace(whole, `the list has ${list.length} places, counted from 0`);
  return [...list.slice(0, at), setIn(list[at], rest, whole), ...list.slice(at + 1)];
}

function splitPath(text: string): string[] {
  const parts: string[] = [''];
  for (const piece of text.match(/\\\.|\.|[^.\\]+|\\/g) ?? []) {
    if (piece === '.') parts.push('');
    else parts.push((parts.pop() ?? '') + (piece === '\\.' ? '.' : piece));
  }
  return parts;
}

function parseValue(assignment: string, at: number): Json {
  const text = assignment.slice(at);
  if (parseJson(text) === undefined) return text;
  const read = readJson(text);
  if (read.ok) return read.value;
  throw usageError(
    `--set ${assignment}: ${describeIssues(read.issues)}`,
    'Text has double quotes in it: --set order=\'"9007199254740993"\'.',
  );
}

function noPlace({ path }: Assignment, why: string) {
  return usageError(`--set ${path.join('.')}: ${why}`, '`countersign show <turn>/<call>` lists every path.');
}
