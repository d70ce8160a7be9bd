import { diffWordsWithSpace } from 'diff';
import { changedLeaves } from '../../contract/leaves';
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
  return changedLeaves(before, after).map(({ path, old, now }) => {
    if (old === undefined) return { path, kind: 'added', parts: [{ kind: 'added', text: textOf(now) }] };
    if (now === undefined) return { path, kind: 'removed', parts: [{ kind: 'removed', text: textOf(old) }] };
    return { path, kind: 'changed', parts: leafParts(old, now) };
  });
}

function leafParts(old: Json, now: Json): Part[] {
  if (typeof old === 'string' && typeof now === 'string') return wordParts(old, now);
  return wholeParts(JSON.stringify(old), JSON.stringify(now));
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
