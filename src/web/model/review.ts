import { diffWordsWithSpace } from 'diff';
import { counted } from '../../history/labels';
import type { Answer, DecisionBody } from '../../server/api';
import type { Json, JsonObject } from '../../contract/json';
import type { RequestOpened } from '../../history/events';
import type { CallView } from '../../history/view-types';
import type { Segment, deceivingIn } from '../../contract/text/unsafe-text';
import { titleOf } from '../../contract/text/call-title';
import { changedLeaves } from '../../contract/text/json-diff';

/** A part of a compared text. */
interface Part {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** A leaf of the arguments that differs. */
interface Change {
  path: string;
  /** The path for people. */
  name: string;
  kind: 'changed' | 'added' | 'removed';
  parts: Part[];
}

/** Longer texts are compared as a whole, because comparing them word by word would take seconds. */
const WORD_BY_WORD = 20_000;

/** Every leaf that differs between two sets of arguments. Texts are compared word by word. */
export function changesOf(before: JsonObject, after: JsonObject): Change[] {
  return changedLeaves(before, after).map(({ path, name, old, now }) => {
    const at = { path, name };
    if (old === undefined) return { ...at, kind: 'added', parts: [{ kind: 'added', text: textOf(now) }] };
    if (now === undefined) return { ...at, kind: 'removed', parts: [{ kind: 'removed', text: textOf(old) }] };
    return { ...at, kind: 'changed', parts: leafParts(old, now) };
  });
}

function leafParts(old: Json, now: Json): Part[] {
  if (typeof old === 'string' && typeof now === 'string') return wordParts(old, now);
  return wholeParts(JSON.stringify(old), JSON.stringify(now));
}

/** The differences of two texts, word by word. */
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

function textOf(value: Json | undefined) {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The choices that a person has made for a request so far. */
export interface Choice {
  /** The new arguments, if they are edited. */
  edited?: JsonObject;
  /** Ids of the hunks that are ticked. */
  hunks: readonly string[];
  reason: string;
  /** What the model should do instead. Only a denial has it. */
  suggestion?: string;
}

/** Ids of all hunks of a request, in order. */
export function hunkIds(request: RequestOpened): string[] {
  return (request.preview?.plan?.hunks ?? []).map(({ id }) => id);
}

/** Ids of the hunks that a person approved: all hunks, unless the decision that counts names only some of them. */
export function approvedHunks({ request, settledBy }: Pick<CallView, 'request' | 'settledBy'>): string[] {
  const all = request ? hunkIds(request) : [];
  return settledBy?.hunks ? all.filter((id) => settledBy.hunks?.includes(id)) : all;
}

/**
 * The decision to send. It carries the digest of the request that the page showed, so that a stale page decides
 * nothing.
 */
export function toDecision(
  request: RequestOpened,
  kind: 'approve' | 'deny',
  { edited, hunks, reason, suggestion = '' }: Choice,
): Omit<DecisionBody, 'decisionId'> {
  const { callId, callKey, seenDigest } = request;
  const shown = { callId, callKey, seenDigest, reason: reason.trim() || undefined };
  if (kind === 'deny') return { ...shown, decision: 'denied', suggestion: suggestion.trim() || undefined };
  if (edited) return { ...shown, decision: 'modified', arguments: edited };
  const all = hunkIds(request);
  const some = all.filter((id) => hunks.includes(id));
  return {
    ...shown,
    decision: 'approved',
    hunks: some.length < all.length ? some : undefined,
  };
}

const DECIDED = {
  approved: 'Approved',
  modified: 'Changed',
  denied: 'Denied',
  withdrawn: 'Took back the vote on',
  'ask-again': 'Asked again about',
} as const;

/**
 * A decision in words, for a notice: the call, and how much of it was approved. `isVote`: others have to decide, too.
 */
export function decisionText(
  request: RequestOpened,
  { decision, arguments: edited, hunks }: Pick<DecisionBody, 'decision' | 'arguments' | 'hunks'>,
  isVote = false,
): string {
  const { tool, arguments: args, preview } = request;
  const part = hunks ? `${hunks.length} of ${preview?.plan?.hunks.length ?? 0} hunks of ` : '';
  const what = titleOf(edited ? { tool, arguments: edited } : { tool, arguments: args, preview });
  const word = DECIDED[decision];
  return isVote ? `Your vote, ${word.toLowerCase()}: ${part}${what}` : `${word} ${part}${what}`;
}

/** Decisions that let a call run. */
const LETS: readonly string[] = ['approved', 'modified', 'run-again'];

/** Whether a call runs because of this answer. The person is then shown problems of the call. */
export function letsRun(answer: Answer): boolean {
  if (answer.status !== 'accepted' || answer.verdict.needs) return false;
  return LETS.includes(answer.verdict.decision);
}

/** Says how many deceptive characters and words of each kind a text has. Empty if it has none. */
export function deceivingText({ hidden, alike, turned }: ReturnType<typeof deceivingIn>): string {
  const parts = [
    hidden > 0 && `${counted(hidden, 'character')} that would not show`,
    alike > 0 && `${counted(alike, 'word')} with letters that pass for others`,
    turned > 0 &&
      `${counted(turned, 'word')} written from right to left, whose letters stand in the order of the text`,
  ].filter((part) => part !== false);
  return parts.join(parts.length > 2 ? ', and ' : ' and ');
}

/** A block of this size fits one screen, also on a phone. */
const BLOCK_LINES = 16;
const BLOCK_CHARS = 1_200;

/** Whether a text may fill more than a screen. */
export function isLong(text: string): boolean {
  return text.length > BLOCK_CHARS || text.split('\n').length > BLOCK_LINES;
}

/**
 * Divides a text into blocks of about one screen. A person has seen the whole text once the end of each block was in
 * view. No text is lost, and a mark stays whole. There is at least one block.
 */
export function blocksOf(pieces: readonly Segment[]): Segment[][] {
  const blocks: Segment[][] = [[]];
  let room = { lines: BLOCK_LINES, chars: BLOCK_CHARS };
  for (const piece of pieces.flatMap(split)) {
    const shown = piece.kind === 'text' ? piece.text : piece.shown;
    if (room.lines <= 0 || room.chars < Math.min(shown.length, BLOCK_CHARS)) {
      blocks.push([]);
      room = { lines: BLOCK_LINES, chars: BLOCK_CHARS };
    }
    blocks.at(-1)?.push(piece);
    room = { lines: room.lines - (shown.endsWith('\n') ? 1 : 0), chars: room.chars - shown.length };
  }
  return blocks;
}

/** Splits a text into lines, and lines that are too long into parts. */
function split(piece: Segment): Segment[] {
  if (piece.kind === 'mark') return [piece];
  const lines = piece.text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  return lines.flatMap(cut).map((text) => ({ kind: 'text', text }));
}

function cut(line: string): string[] {
  if (line.length <= BLOCK_CHARS) return [line];
  const chars = [...line];
  const count = Math.ceil(chars.length / BLOCK_CHARS);
  return Array.from({ length: count }, (_, n) =>
    chars.slice(n * BLOCK_CHARS, (n + 1) * BLOCK_CHARS).join(''),
  );
}
