import { digestText } from '../digest';
import { isObject } from '../json';
import { KIB, LIMITS } from '../limits';
import { guard } from '../schema/message';
import { SPENDING } from '../spending/carried';
import { COMPACT_OUTPUT, type CompactOutput, SESSION_STATES_SHAPE, type TurnRecord } from './index';
import {
  bytesOfEntries,
  cutContent,
  entryBytes,
  isTranscriptEntry,
  type TranscriptEntry,
  withoutOutput,
  wordsEntry,
} from '../transcript';
import { utf8Bytes } from '../text/bytes';

/** The most bytes of one call's arguments, and of one result's content, that a session remembers of a turn. */
const RECORD_ARGUMENTS_BYTES = 2 * KIB;

const RECORD_RESULT_BYTES = 4 * KIB;

/** The entries of a turn that a session keeps. They are shortened, and calls without a result are left out. */
export function recordEntries(entries: readonly TranscriptEntry[]): TranscriptEntry[] {
  const whole = withResults(entries.map(shortened));
  return fitEntries(whole, LIMITS.recordBytes);
}

/** The digest of a session's memory after the entries of a turn were added. It is made from the digest before. */
export function digestAfter(before: string, added: readonly TranscriptEntry[]): string {
  return digestText(`${before} ${JSON.stringify(added)}`);
}

/**
 * An entry with only the fields that every model can read. The fields that a provider added belong to the whole reply.
 */
function shortened(entry: TranscriptEntry): TranscriptEntry {
  if (entry.kind === 'words') return wordsEntry(entry);
  if (entry.kind === 'result') {
    const { kind, callId, id: ofModel, tool, success } = entry;
    return {
      kind,
      callId,
      id: ofModel,
      tool,
      success,
      content: cutContent(entry.content, RECORD_RESULT_BYTES),
    };
  }
  const { kind, replyId, text } = entry;
  return {
    kind,
    replyId,
    text,
    calls: entry.calls.map((call) => shortCall(call, RECORD_ARGUMENTS_BYTES)),
  };
}

type Reply = Extract<TranscriptEntry, { kind: 'reply' }>;
type Call = Reply['calls'][number];

/** Bytes of `{"shortened":}`, rounded up. */
const FRAME_BYTES = 16;

function shortCall({ callId, id: ofModel, tool, arguments: args, raw }: Call, mostBytes: number): Call {
  const head = { callId, id: ofModel, tool };
  if (raw !== undefined) return { ...head, arguments: {}, raw: cutContent(raw, mostBytes) };
  const text = JSON.stringify(args);
  if (utf8Bytes(text) <= mostBytes) return { ...head, arguments: args };
  return { ...head, arguments: { shortened: cutContent(text, mostBytes - FRAME_BYTES) } };
}

/** The text that the model reads in place of a result, if the turn ended in the middle of a step. */
const NO_RESULT = '[The turn ended before the result of this call was known. It may have run.]';

function withResults(entries: readonly TranscriptEntry[]): TranscriptEntry[] {
  return stepsOf(entries).flatMap((step) => {
    const [first, ...rest] = step;
    if (first?.kind !== 'reply') return step;
    const there = new Set(rest.map((entry) => (entry.kind === 'result' ? entry.callId : '')));
    const lacking = first.calls
      .filter(({ callId }) => !there.has(callId))
      .map(({ callId, id: ofModel, tool }): TranscriptEntry => {
        return { kind: 'result', callId, id: ofModel, tool, content: NO_RESULT, success: false };
      });
    const results = rest.filter(({ kind }) => kind === 'result');
    return [first, ...results, ...lacking, ...rest.filter(({ kind }) => kind !== 'result')];
  });
}

/**
 * Splits entries into steps: each reply with the entries up to the next reply. Entries before the first reply come
 * first.
 */
function stepsOf(entries: readonly TranscriptEntry[]) {
  const steps: TranscriptEntry[][] = [];
  for (const entry of entries) {
    const last = steps.at(-1);
    if (last === undefined || entry.kind === 'reply') steps.push([entry]);
    else last.push(entry);
  }
  return steps;
}

/**
 * Cuts entries to at most `mostBytes` bytes. The oldest outputs go first, then whole steps from the second on, then the
 * middle of texts. The first words and the last reply stay.
 */
function fitEntries(entries: readonly TranscriptEntry[], mostBytes: number): TranscriptEntry[] {
  const sizes = entries.map(entryBytes);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= mostBytes) return [...entries];
  const kept = [...entries];
  for (let index = 0; index < kept.length && bytes > mostBytes; index++) {
    const entry = kept[index];
    const shorter = entry && withoutOutput(entry);
    if (shorter === undefined || shorter === entry) continue;
    kept[index] = shorter;
    bytes -= (sizes[index] ?? 0) - entryBytes(shorter);
  }
  return bytes <= mostBytes ? kept : fitSteps(stepsOf(kept), { bytes, mostBytes });
}

function fitSteps(
  steps: readonly TranscriptEntry[][],
  { bytes, mostBytes }: { bytes: number; mostBytes: number },
): TranscriptEntry[] {
  let left = bytes;
  let out = 0;
  for (const step of steps.slice(1, -1)) {
    if (left <= mostBytes - NOTE_BYTES) break;
    left -= bytesOfEntries(step);
    out += 1;
  }
  const note: TranscriptEntry[] =
    out === 0 ? [] : [{ kind: 'words', text: `[${out} steps of this turn are left out here]` }];
  const kept = [...(steps[0] ?? []), ...note, ...steps.slice(1 + out).flat()];
  return left <= mostBytes - NOTE_BYTES ? kept : shareTexts(kept, mostBytes);
}

const NOTE_BYTES = 256;

/** Cuts each entry to an equal share of the bytes. Each entry keeps at least its head, its tail and a mark. */
function shareTexts(entries: readonly TranscriptEntry[], mostBytes: number): TranscriptEntry[] {
  const share = Math.max(NOTE_BYTES, Math.floor(mostBytes / Math.max(1, entries.length)) - NOTE_BYTES);
  return entries.map((entry): TranscriptEntry => {
    if (entry.kind === 'words') return shareWords(entry, share);
    if (entry.kind === 'result') return { ...entry, content: cutContent(entry.content, share) };
    const ofCall = Math.max(LEAST_BYTES, Math.floor(share / (entry.calls.length + 1)));
    const calls = entry.calls.map((call) => shortCall(call, ofCall));
    return { ...entry, text: cutContent(entry.text, share), calls };
  });
}

const LEAST_BYTES = 64;

/** Cuts words. The files stay as long as their references take no more than the share. */
function shareWords(entry: Extract<TranscriptEntry, { kind: 'words' }>, share: number): TranscriptEntry {
  const { text, files = [] } = entry;
  if (entryBytes(wordsEntry({ text: '', files })) <= share)
    return wordsEntry({ text: cutContent(text, share), files });
  return wordsEntry({ text: `${cutContent(text, share)}\n[${files.length} files are left out here]` });
}

/** Reads a turn's record from outside. Undefined: it cannot be read. Never throws. */
export function readRecord(value: unknown): TurnRecord | undefined {
  if (!isObject(value)) return undefined;
  const { entries, took, requesters, tokens, compactOver, shortened, spending, states } = value;
  if (!Array.isArray(entries)) return undefined;
  if (!areTexts(took) || !entries.every(isTranscriptEntry)) return undefined;
  const counts = {
    tokens: countIn(tokens),
    compactOver: countIn(compactOver),
    shortened: shortened === true || undefined,
    spending: isSpending(spending) ? spending : undefined,
    states: isStates(states) ? states : undefined,
    requesters: areTexts(requesters) ? requesters : undefined,
  };
  return { entries: recordEntries(entries), took, ...counts };
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function countIn(value: unknown) {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

const isSpending = guard(SPENDING);
const isStates = guard(SESSION_STATES_SHAPE);
const isCompactOutput = guard(COMPACT_OUTPUT);

/** Reads a summary and cuts it to its limit. Undefined: it cannot be read. */
export function readCompactOutput(value: unknown): CompactOutput | undefined {
  return isCompactOutput(value) ? { ...value, text: cutContent(value.text, LIMITS.summaryBytes) } : undefined;
}
