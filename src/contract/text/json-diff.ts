import { isObject, type Json, type JsonObject } from '../json';

/** One leaf of arguments, and its value. */
export interface Leaf {
  /** The path in the form that `--set` takes. It counts the items of a list from 0. */
  path: string;
  /** The path for people: it counts the items of a list from 1, `travellers.#1.name`. */
  name: string;
  value: Json;
}

/**
 * Every leaf of arguments, however deep. Empty lists and objects are leaves, and so is what `isWhole` takes as a whole.
 */
export function leavesOf(args: JsonObject, isWhole = (_: Json) => false): Leaf[] {
  return collect(args, { path: [], name: [] }, isWhole);
}

/** One leaf that differs. A value is undefined if the leaf is absent. */
interface ChangedLeaf {
  path: string;
  name: string;
  old: Json | undefined;
  now: Json | undefined;
}

/** Every leaf that differs between two sets of arguments, the leaves of the first set first. */
export function changedLeaves(before: JsonObject, after: JsonObject): ChangedLeaf[] {
  const old = new Map(leavesOf(before).map((leaf) => [leaf.path, leaf]));
  const now = new Map(leavesOf(after).map((leaf) => [leaf.path, leaf]));
  return [...new Map([...old, ...now]).values()]
    .map(({ path, name }) => ({ path, name, old: old.get(path)?.value, now: now.get(path)?.value }))
    .filter((leaf) => JSON.stringify(leaf.old) !== JSON.stringify(leaf.now));
}

/** Where a leaf stands. */
type Place = Record<'path' | 'name', readonly string[]>;

function collect(value: Json, { path, name }: Place, isWhole: (value: Json) => boolean): Leaf[] {
  const entries = isWhole(value)
    ? []
    : Array.isArray(value)
      ? value.map((item, at) => [String(at), `#${at + 1}`, item] as const)
      : isObject(value)
        ? Object.entries(value).map(([key, item]) => [key, key, item] as const)
        : [];
  if (entries.length === 0)
    return path.length === 0 ? [] : [{ path: path.join('.'), name: name.join('.'), value }];
  const inner = (names: readonly string[], key: string) => [...names, key.replaceAll('.', '\\.')];
  return entries.flatMap(([key, shown, item]) =>
    collect(item, { path: inner(path, key), name: inner(name, shown) }, isWhole),
  );
}
