import { isObject, type Json, type JsonObject } from '../json';

/** One leaf of arguments: its path in the form that `--set` takes, and its value. */
export interface Leaf {
  path: string;
  value: Json;
}

/** Every leaf of arguments, however deep. Empty lists and objects are leaves. */
export function leavesOf(args: JsonObject): Leaf[] {
  return collect(args, []);
}

/** One leaf that differs. A value is undefined if the leaf is absent. */
export interface ChangedLeaf {
  path: string;
  old: Json | undefined;
  now: Json | undefined;
}

/** Every leaf that differs between two sets of arguments, the leaves of the first set first. */
export function changedLeaves(before: JsonObject, after: JsonObject): ChangedLeaf[] {
  const old = new Map(leavesOf(before).map(({ path, value }) => [path, value]));
  const now = new Map(leavesOf(after).map(({ path, value }) => [path, value]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, old: old.get(path), now: now.get(path) }))
    .filter((leaf) => JSON.stringify(leaf.old) !== JSON.stringify(leaf.now));
}

function collect(value: Json, path: readonly string[]): Leaf[] {
  const entries = Array.isArray(value)
    ? value.map((item, at): [string, Json] => [String(at), item])
    : isObject(value)
      ? Object.entries(value)
      : [];
  if (entries.length === 0) return path.length === 0 ? [] : [{ path: path.join('.'), value }];
  return entries.flatMap(([key, item]) => collect(item, [...path, key.replaceAll('.', '\\.')]));
}
