import { diffWordsWithSpace } from 'diff';
import { leavesOf } from '../../contract/leaves';
import type { Json, JsonObject } from '../../contract/json';

/** A piece of a text that was compared. */
export interface Part {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** One leaf that differs. */
export interface Change {
  path: string;
  kind: 'changed' | 'added' | 'removed';
  parts: Part[];
}

/** Texts beyond this are compared as a whole: word by word would take seconds. */
const WORD_BY_WORD = 20_000;

/** Every leaf that differs between two sets of arguments, text word by word. */
export function changesOf(before: JsonObject, after: JsonObject): Change[] {
  const old = new Map(leavesOf(before).map(({ path, value }) => [path, value]));
  const now = new Map(leavesOf(after).map(({ path, value }) => [path, value]));
  const paths = [...now.keys(), ...[...old.keys()].filter((path) => !now.has(path))];
  return paths.flatMap((path) => changeAt(path, old.get(path), now.get(path)));
}

function changeAt(path: string, before: Json | undefined, after: Json | undefined): Change[] {
  if (before === undefined) return [{ path, kind: 'added', parts: [{ kind: 'added', text: textOf(after) }] }];
  if (after === undefined)
    return [{ path, kind: 'removed', parts: [{ kind: 'removed', text: textOf(before) }] }];
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (typeof before === 'string' && typeof after === 'string') {
    return [{ path, kind: 'changed', parts: wordParts(before, after) }];
  }
  return [{ path, kind: 'changed', parts: wholeParts(JSON.stringify(before), JSON.stringify(after)) }];
}

/** Two texts, word by word. */
export function wordParts(before: string, after: string): Part[] {
  if (before.length + after.length > WORD_BY_WORD) return wholeParts(before, after);
  return diffWordsWithSpace(before, after).map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value,
  }));
}

function wholeParts(before: string, after: string): Part[] {
  return [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ];
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
