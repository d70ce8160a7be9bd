import { isObject, type Json, type JsonObject } from './json';

/** One leaf of arguments: its path as `--set` takes it, and its value. */
export interface Leaf {
  path: string;
  value: Json;
}

/** Every leaf of arguments, however deep: nothing hides below. Empty lists and objects are leaves. */
export function leavesOf(args: JsonObject): Leaf[] {
  return collect(args, []);
}

function collect(value: Json, path: readonly string[]): Leaf[] {
  const entries = Array.isArray(value)
    ? value.map((item, at): [string, Json] => [String(at), item])
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  if (entries.length === 0) return path.length === 0 ? [] : [{ path: path.join('.'), value }];
  return entries.flatMap(([key, item]) => collect(item, [...path, key.replaceAll('.', '\\.')]));
}

function isJsonObject(value: Json): value is JsonObject {
  return isObject(value);
}
