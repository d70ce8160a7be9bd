import { canonicalJson } from '../contract/digest';
import {
  isJsonObject,
  isObject,
  isPlainObject,
  isSoundJson,
  type Json,
  type JsonObject,
  parseJson,
} from '../contract/json';
import { LIMITS } from '../contract/limits';
import { type ToolFailure, validationFailure } from '../contract/result';
import { readJson } from '../contract/read-json';
import { asMeant, type Reading } from '../contract/schema/meant-arguments';
import { applyDefaults } from '../contract/schema/schema';
import { foldCase, type JudgedForm } from '../contract/text/spelling';
import type { Issue } from '../contract/tool';
import { cutOutput } from './cut-output';
import { FIND_TOOLS } from './builtin/find-tools';
import { copyArguments } from './parameters';
import type { Registry } from './registry';
import { nearNames } from './tool-names';
import type { Tool } from './types';

/** A call whose tool exists and whose arguments fit. */
export interface ReadyCall {
  ok: true;
  tool: Tool;
  /** The arguments that were given. */
  proposed: JsonObject;
  /** The arguments with defaults applied. */
  args: JsonObject;
  /** What a person has to know about the arguments, in words. */
  notes: string[];
  /** The arguments in the form that the handler gets. */
  value: unknown;
}

/** A call that cannot run. */
interface UnfitCall {
  ok: false;
  tool: Tool | undefined;
  /** The arguments that were given. Undefined if the text is not an object. */
  proposed: JsonObject | undefined;
  failure: ToolFailure;
}

/** Prepares every call: finds the tool, reads the arguments, fills in defaults and validates. Never throws. */
export function prepare(registry: Registry, name: string, given: string | JsonObject): ReadyCall | UnfitCall {
  const tool = registry.get(name);
  // Objects become text first, so that the same limits apply and the caller cannot change the arguments later.
  const read = parseArguments(typeof given === 'string' ? given : (JSON.stringify(given) ?? 'undefined'));
  const proposed = read.ok ? read.value : undefined;
  if (tool === undefined) return { ok: false, tool, proposed, failure: unknownTool(registry, name) };
  if (!read.ok) return { ok: false, tool, proposed, failure: validationFailure(read.issues) };
  return fitArguments(tool, read.value);
}

/**
 * Validates arguments against a tool, with all defaults filled in: the defaults of the JSON Schema, and values that the
 * tool's parser adds. So a person who looks at the arguments sees the arguments that the handler gets.
 */
export function fitArguments(named: Tool, proposed: JsonObject): ReadyCall | UnfitCall {
  const parsed = named.parse(proposed);
  if (!parsed.ok) return { ok: false, tool: named, proposed, failure: validationFailure(parsed.issues) };
  const { value } = parsed;
  const tool = named.forCall?.(value) ?? named;
  const as = { readText: tool.jsonTexts ? readJson : undefined };
  const spelled = tool.spelling?.spell(proposed) ?? proposed;
  const args = copyArguments(applyDefaults(tool.schema, spelled, as));
  const notes = notesOn(tool, asMeant(tool.schema, proposed, as).readings);
  if (unshownIn(args, value) === undefined) return { ok: true, tool, proposed, args, value, notes };
  const filled = fillInDefaults(args, value);
  const again = tool.parse(filled);
  // A transform may add values that the schema does not allow. Then the arguments stay without them.
  return again.ok
    ? { ok: true, tool, proposed, args: filled, value: again.value, notes }
    : { ok: true, tool, proposed, args, value, notes };
}

/** The most notes on a call. Nobody reads more. */
const MOST_NOTES = 20;
const NOTE_CHARACTERS = 300;

const READ_AS: Readonly<Record<Reading['as'], string>> = {
  absent: 'null counts as absent',
  json: 'a text is read as JSON',
};

function notesOn({ unchecked = [] }: Tool, readings: readonly Reading[]) {
  const all = [
    ...readings.map(({ path, as }) => `${path}: ${READ_AS[as]}`),
    ...unchecked.map((what) => `checked by the server only: ${what}`),
  ];
  return all.slice(0, MOST_NOTES).map((note) => note.slice(0, NOTE_CHARACTERS));
}

/** The tool for one call, milder if the arguments make it so. Used when a call is prepared and when it runs. */
export function asCalled(tool: Tool, args: JsonObject): Tool {
  if (tool.forCall === undefined) return tool;
  const parsed = tool.parse(args);
  return parsed.ok ? tool.forCall(parsed.value) : tool;
}

/** The most bytes of tool names in the answer to a call of an unknown tool. */
const NAMES_BYTES = LIMITS.reasonBytes;

function unknownTool(registry: Registry, name: string): ToolFailure {
  const asked = name.slice(0, 100);
  const message = `There is no tool "${asked}". ${whatThereIs(registry, asked)}`;
  return { code: 'tool_not_found', message };
}

function whatThereIs(registry: Registry, asked: string) {
  const names = registry.list().map((tool) => tool.name);
  if (names.length === 0) return 'There are no tools.';
  if (registry.get(FIND_TOOLS) === undefined)
    return cutOutput(`There are: ${names.join(', ')}.`, NAMES_BYTES);
  const near = nearNames(asked, names);
  const alike = near.length === 0 ? '' : `Near it: ${near.join(', ')}. `;
  return `${alike}Look for tools with ${FIND_TOOLS}.`;
}

/** The arguments as an object, or the reasons why the text is not an object. */
type ArgumentsText = { ok: true; value: JsonObject } | { ok: false; issues: Issue[] };

/**
 * Reads the arguments of a call strictly (see `readJson`): one JSON object of at most 128 KiB and 64 levels, and
 * nothing else. The model reads the errors and writes the arguments again; we never repair them.
 *
 * Empty text means `{}`: OpenAI-compatible servers send empty text for tools without parameters, and the schema still
 * refuses `{}` if a property is required.
 */
export function parseArguments(raw: string): ArgumentsText {
  if (raw === '') return { ok: true, value: {} };
  const bytes = Buffer.byteLength(raw);
  if (bytes > LIMITS.argumentsBytes) {
    return wrong(`the arguments have ${bytes} bytes; at most ${LIMITS.argumentsBytes} are allowed`);
  }
  return readObject(raw);
}

function readObject(raw: string): ArgumentsText {
  const read = readJson(raw);
  if (!read.ok) return read;
  if (isObject(read.value)) return { ok: true, value: read.value };
  return wrong(`the arguments must be a JSON object, not ${kindOf(read.value)}`);
}

function kindOf(value: unknown) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function wrong(message: string): ArgumentsText {
  return { ok: false, issues: [{ path: '', message }] };
}

/**
 * The arguments, with the keys that their parser added to objects, at every depth. Given values stay, even if the
 * parser changed them. Added values that are not JSON are left out.
 */
export function fillInDefaults(args: JsonObject, parsed: unknown): JsonObject {
  if (!isPlainObject(parsed)) return args;
  const kept = Object.entries(args).map(([key, own]) => [key, filled(own, ownOf(parsed, key))] as const);
  const added = addedKeys(args, parsed).flatMap((key) => {
    const value = parsed[key];
    return isJson(value) ? [[key, structuredClone(value)] as const] : [];
  });
  return Object.fromEntries([...kept, ...added]);
}

function filled(own: Json, parsed: unknown): Json {
  if (Array.isArray(own))
    return isSameLength(own, parsed) ? own.map((one, at) => filled(one, parsed[at])) : own;
  return isObject(own) ? fillInDefaults(own, parsed) : own;
}

/** The JSON pointer of the first key that a parsed value has and its arguments lack. Undefined if there is none. */
export function unshownIn(args: unknown, parsed: unknown, at = ''): string | undefined {
  if (Array.isArray(args) && isSameLength(args, parsed))
    return firstOf(args.keys(), (key) => [args[key], parsed[key]], at);
  if (!isObject(args) || !isPlainObject(parsed)) return undefined;
  const [added] = addedKeys(args, parsed);
  if (added !== undefined) return `${at}/${added}`;
  return firstOf(Object.keys(args), (key) => [args[key], ownOf(parsed, key)], at);
}

function firstOf<K extends string | number>(
  keys: Iterable<K>,
  both: (key: K) => [unknown, unknown],
  at: string,
): string | undefined {
  for (const key of keys) {
    const [args, parsed] = both(key);
    const unshown = unshownIn(args, parsed, `${at}/${key}`);
    if (unshown !== undefined) return unshown;
  }
  return undefined;
}

function addedKeys(args: object, parsed: Record<string, unknown>) {
  return Object.keys(parsed).filter((key) => parsed[key] !== undefined && !Object.hasOwn(args, key));
}

function ownOf(parsed: Record<string, unknown>, key: string) {
  return Object.hasOwn(parsed, key) ? parsed[key] : undefined;
}

function isSameLength(args: readonly unknown[], parsed: unknown): parsed is readonly unknown[] {
  return Array.isArray(parsed) && parsed.length === args.length;
}

function isJson(value: unknown): value is Json {
  if (Array.isArray(value)) return value.every(isJson);
  if (isPlainObject(value)) return isSoundJson(value) && Object.values(value).every(isJson);
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/**
 * The forms of a call that rules judge besides its arguments: what the tool makes of them, and, where the file system
 * takes names in upper and lower case for the same, the arguments in lower case.
 */
export async function furtherForms(
  { spelling }: Pick<Tool, 'spelling'>,
  args: JsonObject,
  value: unknown,
): Promise<JudgedForm[]> {
  const parsed = judgedForm(args, value);
  const forms: JudgedForm[] = canonicalJson(parsed) === canonicalJson(args) ? [] : [{ args: parsed }];
  const folded = (await spelling?.foldsCase?.()) && parseJson(foldCase(JSON.stringify(parsed)));
  return isJsonObject(folded) ? [...forms, { args: folded, isFolded: true }] : forms;
}

/** The arguments as a tool's parser returned them. What is not JSON in them stays as the model wrote it. */
export function judgedForm(args: JsonObject, value: unknown): JsonObject {
  if (!isPlainObject(value)) return args;
  const kept = Object.entries(value).flatMap(([key, parsed]) => {
    const judged = [parsed, args[key]].find(isJson);
    return judged === undefined ? [] : [[key, judged] as const];
  });
  return Object.fromEntries(kept);
}

/** Ids that are unique in their step. A call without an id, or with an earlier call's id, gets one by its position. */
export function uniqueIds(calls: readonly { id?: string }[]): string[] {
  const given = new Set(calls.map(({ id }) => id));
  const taken = new Set<string>();
  return calls.map(({ id }, index) => {
    const isFirst = id !== undefined && id !== '' && !taken.has(id);
    const unique = isFirst
      ? id
      : freeId(`call_${index + 1}`, (wanted) => taken.has(wanted) || given.has(wanted));
    taken.add(unique);
    return unique;
  });
}

function freeId(wanted: string, isTaken: (id: string) => boolean) {
  let free = wanted;
  for (let n = 1; isTaken(free); n++) free = `${wanted}_${n}`;
  return free;
}
