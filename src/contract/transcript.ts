import type { PreparedCall } from './call';
import { isObject, type JsonObject } from './json';
import type { FileRef } from './session/files';
import { LIMITS } from './limits';
import { jsonBytes, utf8Bytes, withFiles } from './text/bytes';
import type { ThinkOutput } from './think';

/** One call as the transcript shows it to the model. `raw` is set only if the arguments could not be parsed. */
export interface TranscriptCall {
  callId: string;
  id: string;
  tool: string;
  arguments: JsonObject;
  raw?: string;
}

/** The messages of a turn, in order. */
export type TranscriptEntry =
  | { kind: 'words'; text: string; files?: FileRef[] }
  /**
   * `context`: what the model knew before the conversation. Only in the first reply of a turn. `opaque`: the data that
   * the provider wants back with the reply.
   */
  | {
      kind: 'reply';
      replyId: string;
      text: string;
      calls: TranscriptCall[];
      context?: string;
      opaque?: string;
    }
  | {
      kind: 'result';
      callId: string;
      id: string;
      tool: string;
      content: string;
      success: boolean;
    };

/** One page of the `transcript` query. `next` is the index of the next page, null at the end. */
export interface TranscriptPage {
  from: number;
  entries: TranscriptEntry[];
  next: number | null;
}

/** The entries from an index on, up to the page limit. At least one entry. */
export function pageOf(list: readonly TranscriptEntry[], first: number): TranscriptPage {
  const from = Math.max(0, first);
  let end = from;
  for (let bytes = 0; end < list.length; end++) {
    const entry = list[end];
    bytes += entry === undefined ? 0 : entryBytes(entry);
    if (bytes > LIMITS.transcriptPageBytes && end > from) break;
  }
  return { from, entries: list.slice(from, end), next: end < list.length ? end : null };
}

/** Argument of the `transcript` query. */
export interface TranscriptQuery {
  from: number;
}

/** The text in place of an output that was dropped to keep the transcript within its limit. */
export const DROPPED_OUTPUT = '[older output dropped to keep the transcript within its limit]';

/** An entry without its output, unless that would be longer. */
export function withoutOutput(entry: TranscriptEntry): TranscriptEntry {
  return entry.kind === 'result' && entry.content.length > DROPPED_OUTPUT.length
    ? { ...entry, content: DROPPED_OUTPUT }
    : entry;
}

/** The bytes that an entry counts for: its JSON, in UTF-8. */
export function entryBytes(entry: TranscriptEntry): number {
  return utf8Bytes(JSON.stringify(entry));
}

/** The bytes that entries count for. */
export function bytesOfEntries(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

/**
 * Cuts a text so that it takes at most `mostBytes` as JSON. Head and tail are kept, and a mark replaces the middle. No
 * character is split. If the mark alone is longer, only the mark is left. Cutting twice changes nothing.
 */
export function cutContent(content: string, mostBytes: number): string {
  // A UTF-16 unit takes at most six bytes in JSON.
  if (content.length * 6 + 2 <= mostBytes || jsonBytes(content) <= mostBytes) return content;
  const room = mostBytes - jsonBytes(cutMark(content.length));
  const head = headWithin(content, Math.ceil(room / 2));
  const tail = tailWithin(content, Math.floor(room / 2));
  return content.slice(0, head) + cutMark(tail - head) + content.slice(tail);
}

function cutMark(leftOut: number) {
  return `\n[... ${leftOut} characters left out to keep within the limit ...]\n`;
}

/** The index at which the longest beginning with at most this many bytes ends. */
function headWithin(text: string, mostBytes: number) {
  let index = 0;
  for (let room = mostBytes; ;) {
    const point = text.codePointAt(index);
    room -= point === undefined ? Infinity : pointBytes(point);
    if (point === undefined || room < 0) return index;
    index += point > 0xffff ? 2 : 1;
  }
}

/** The smallest index from which the rest of the text has at most this many bytes. */
function tailWithin(text: string, mostBytes: number) {
  let index = text.length;
  for (let room = mostBytes; index > 0;) {
    const before = text.codePointAt(index - 2) ?? 0;
    const isPair = index > 1 && before > 0xffff;
    room -= isPair ? 4 : pointBytes(text.charCodeAt(index - 1));
    if (room < 0) break;
    index -= isPair ? 2 : 1;
  }
  return index;
}

/** Control characters that JSON writes as a backslash and one letter. */
const SHORT_ESCAPES = '\b\f\n\r\t';

function pointBytes(point: number): number {
  // Nearly every character of a long text is in this range, so this check comes first, and compares only numbers.
  if (point >= 0x20 && point < 0x80) return point === QUOTE || point === BACKSLASH ? 2 : 1;
  if (point > 0xffff) return 4;
  // JSON writes other control characters, and half characters, as numbers.
  if (point < 0x20) return SHORT_ESCAPES.includes(String.fromCharCode(point)) ? 2 : 6;
  if (point >= 0xd800 && point < 0xe000) return 6;
  return point < 0x800 ? 2 : 3;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The fewest bytes to which an output is cut. They hold its first words and the mark. */
const LEAST_OUTPUT_BYTES = 256;

/**
 * The most bytes that each of several outputs may keep, so that all together take at most `room`. The largest outputs
 * are cut first.
 */
export function fairShare(sizes: readonly number[], room: number): number {
  let left = room;
  const ascending = [...sizes].sort((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return Math.max(LEAST_OUTPUT_BYTES, share);
    left -= size;
  }
  return Math.max(LEAST_OUTPUT_BYTES, ascending.at(-1) ?? 0);
}

/**
 * The entries, with a mark in place of every tool output before the index `before`. These earlier entries also lose the
 * data that a provider wants back. Applying this twice changes nothing.
 */
export function dropOutputs(entries: readonly TranscriptEntry[], before: number): TranscriptEntry[] {
  return entries.map((entry, index) => (index < before ? dropOutput(entry) : entry));
}

/** One entry without its output. The entry itself if it has no output. */
export function dropOutput(entry: TranscriptEntry): TranscriptEntry {
  if (entry.kind === 'result' && entry.content !== DROPPED_OUTPUT)
    return { ...entry, content: DROPPED_OUTPUT };
  if (entry.kind !== 'reply' || entry.opaque === undefined) return entry;
  const { opaque: _opaque, ...kept } = entry;
  return kept;
}

/** The entry of a model's reply. Worker and workflow build the same entry from the same output. */
export function replyEntry(
  output: Pick<ThinkOutput, 'replyId' | 'text' | 'calls' | 'context' | 'opaque'>,
): TranscriptEntry {
  return {
    kind: 'reply',
    replyId: output.replyId,
    text: output.text,
    calls: output.calls.map(transcriptCall),
    context: output.context,
    opaque: output.opaque,
  };
}

/** The text of a reply that is the last entry, as where a turn moved to another build. Empty for another entry. */
export function lastReplyText(entries: readonly TranscriptEntry[] = []): string {
  const last = entries.at(-1);
  return last?.kind === 'reply' ? last.text : '';
}

function transcriptCall(call: PreparedCall): TranscriptCall {
  const head = { callId: call.callId, id: call.id, tool: call.tool };
  if (call.kind === 'remote') return { ...head, arguments: {}, raw: call.raw };
  if (call.kind === 'invalid' || call.kind === 'recorded') {
    return { ...head, arguments: call.proposed, raw: call.raw };
  }
  return { ...head, arguments: call.proposed ?? call.arguments };
}

/** The entry of a person's message. */
export function wordsEntry({ text, files }: { text: string; files?: readonly FileRef[] }) {
  return { kind: 'words', text, ...withFiles(files) } as const satisfies TranscriptEntry;
}

/** The entry of a call's result. */
export function resultEntry(
  call: Pick<TranscriptCall, 'callId' | 'id' | 'tool'>,
  result: { content: string; success: boolean },
): Extract<TranscriptEntry, { kind: 'result' }> {
  const { callId, id, tool } = call;
  const { content, success } = result;
  return { kind: 'result', callId, id, tool, content, success };
}

/**
 * Whether a value has the form of an entry. Without a schema, because there may be thousands of entries. Never throws.
 */
export function isTranscriptEntry(entry: unknown): entry is TranscriptEntry {
  if (!isObject(entry)) return false;
  const { kind, calls } = entry;
  const areText = (...names: string[]) => names.every((name) => typeof entry[name] === 'string');
  if (kind === 'words') return areText('text') && areFileRefs(entry);
  if (kind === 'result')
    return areText('callId', 'id', 'tool', 'content') && typeof entry['success'] === 'boolean';
  if (!['context', 'opaque'].every((name) => entry[name] === undefined || areText(name))) return false;
  return kind === 'reply' && areText('replyId', 'text') && Array.isArray(calls) && calls.every(isCall);
}

/** Whether files have the form of references. The other checks were made where the files arrived. */
function areFileRefs({ files = [] }: Record<string, unknown>) {
  const isRef = (file: unknown) =>
    isObject(file) &&
    typeof file['size'] === 'number' &&
    ['digest', 'mediaType', 'name'].every((name) => typeof file[name] === 'string');
  return Array.isArray(files) && files.every(isRef);
}

function isCall(call: unknown) {
  return (
    isObject(call) &&
    isObject(call['arguments']) &&
    ['callId', 'id', 'tool'].every((name) => typeof call[name] === 'string')
  );
}
