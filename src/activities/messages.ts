import type { TranscriptCall, TranscriptEntry } from '../contract/transcript';
import type { ModelCall, ModelMessage } from '../models/model';

/** The transcript as a model reads it. */
export function toMessages(entries: readonly TranscriptEntry[]): ModelMessage[] {
  return entries.map(toMessage);
}

function toMessage(entry: TranscriptEntry): ModelMessage {
  if (entry.kind === 'words') return { role: 'user', content: entry.text };
  if (entry.kind === 'reply') {
    return { role: 'assistant', content: entry.text, toolCalls: entry.calls.map(toModelCall) };
  }
  return { role: 'tool', toolCallId: entry.id, toolName: entry.tool, content: entry.content };
}

function toModelCall(call: TranscriptCall): ModelCall {
  return { id: call.id, name: call.tool, arguments: call.raw ?? JSON.stringify(call.arguments) };
}
