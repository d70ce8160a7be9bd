import type { PreparedCall } from './call';
import type { JsonObject } from './json';
import type { ThinkOutput } from './think';

/** One call as the transcript shows it to the model. `raw` only where the arguments could not be parsed. */
export interface TranscriptCall {
  callId: string;
  id: string;
  tool: string;
  arguments: JsonObject;
  raw?: string;
}

/** The messages of a turn, in order. */
export type TranscriptEntry =
  | { kind: 'words'; text: string }
  | { kind: 'reply'; replyId: string; text: string; calls: TranscriptCall[] }
  | { kind: 'result'; callId: string; id: string; tool: string; content: string; success: boolean };

/** One page of the `transcript` query; `next` is the index to ask for, null at the end. */
export interface TranscriptPage {
  from: number;
  entries: TranscriptEntry[];
  next: number | null;
}

/** Argument of the `transcript` query. */
export interface TranscriptQuery {
  from: number;
}

/** What stands in place of an output that was dropped to keep the transcript within its limit. */
export const DROPPED_OUTPUT = '[older output dropped to keep the transcript within its limit]';

/** Bytes an entry counts for: its JSON, in UTF-8. */
export function entryBytes(entry: TranscriptEntry): number {
  return utf8Bytes(JSON.stringify(entry));
}

/** Length of a string in UTF-8 bytes; works where neither Buffer nor TextEncoder is. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

/** The same entries with every tool output before index `before` replaced by a mark. Applying it twice changes nothing. */
export function dropOutputs(entries: readonly TranscriptEntry[], before: number): TranscriptEntry[] {
  return entries.map((entry, index) =>
    index < before && entry.kind === 'result' && entry.content !== DROPPED_OUTPUT
      ? { ...entry, content: DROPPED_OUTPUT }
      : entry,
  );
}

/** The entry of a model's reply; worker and workflow build the same one from the same output. */
export function replyEntry(output: Pick<ThinkOutput, 'replyId' | 'text' | 'calls'>): TranscriptEntry {
  return {
    kind: 'reply',
    replyId: output.replyId,
    text: output.text,
    calls: output.calls.map(transcriptCall),
  };
}

function transcriptCall(call: PreparedCall): TranscriptCall {
  const head = { callId: call.callId, id: call.id, tool: call.tool };
  if (call.kind === 'remote') return { ...head, arguments: {}, raw: call.raw };
  if (call.kind === 'invalid' || call.kind === 'recorded') {
    return { ...head, arguments: call.proposed, ...(call.raw === undefined ? {} : { raw: call.raw }) };
  }
  return { ...head, arguments: call.proposed ?? call.arguments };
}

/** The entry of a call's result. */
export function resultEntry(
  call: Pick<TranscriptCall, 'callId' | 'id' | 'tool'>,
  result: { content: string; success: boolean },
): TranscriptEntry {
  const { callId, id, tool } = call;
  return { kind: 'result', callId, id, tool, content: result.content, success: result.success };
}
