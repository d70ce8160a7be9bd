import { JSON_LEVELS } from './limits';

// In the sandbox of workflows every use of a global is slow, and these are used for every part of a value.
const { isArray } = Array;
const { keys } = Object;
const { isFinite } = Number;

/** Any value that JSON can write. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. The arguments of every call are a JSON object. */
export interface JsonObject {
  [key: string]: Json;
}

/** Whether a value is a plain object (not null, not an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isArray(value);
}

/** The names of the fields that an object has in JSON. */
export function namesOfFields(value: Record<string, unknown>): string[] {
  return keys(value).filter((name) => value[name] !== undefined);
}

/**
 * Whether a value is an object with only keys and values, from any V8 context. A date or a map is not such an object.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether a value is a JSON object that all our code can take. See isSoundJson. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value) && isSoundJson(value);
}

/** The JSON pointer of a path. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The value of a JSON text. Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether a decoded value is JSON that all our code can take: numbers that JSON can write (`1e999` is read as
 * Infinity), no key `__proto__`, at most `JSON_LEVELS` levels, or fewer. Never throws, whatever the depth.
 */
export function isSoundJson(value: unknown, levels: number = JSON_LEVELS): boolean {
  return isSound(value, levels);
}

function isSound(value: unknown, levels: number): boolean {
  if (levels === 0) return false;
  if (typeof value === 'number') return isFinite(value);
  if (isArray(value)) return value.every((item) => isSound(item, levels - 1));
  if (!isObject(value)) return true;
  return keys(value).every((key) => key !== '__proto__' && isSound(value[key], levels - 1));
}

/** The values without those whose text another one has. */
export function distinct<T extends Json>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}
