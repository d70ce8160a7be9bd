import { Context } from '@temporalio/activity';
import { QUERIES } from '../contract/names';
import {
  dropOutputs,
  resultEntry,
  type TranscriptEntry,
  type TranscriptPage,
  type TranscriptQuery,
} from '../contract/transcript';
import type { ThinkInput } from '../contract/think';
import type { Memory } from './memory';

/** The conversation a step is about: from memory, or what is missing from the turn itself. */
export async function conversationOf(input: ThinkInput, memory: Memory): Promise<TranscriptEntry[]> {
  const entries = fromMemory(input, memory) ?? (await readTranscript());
  return dropOutputs(entries, input.droppedBefore);
}

function fromMemory(input: ThinkInput, memory: Memory): TranscriptEntry[] | undefined {
  const words = input.words.map((text): TranscriptEntry => ({ kind: 'words', text }));
  if (input.after === undefined) return words;
  const known = memory.transcript(runOf(), input.after.replyId);
  if (known?.entries.length !== input.after.count) return undefined;
  const results = resultEntries(input, known.entries, memory);
  return results && [...known.entries, ...results, ...words];
}

function resultEntries(
  input: ThinkInput,
  entries: readonly TranscriptEntry[],
  memory: Memory,
): TranscriptEntry[] | undefined {
  const reply = entries.at(-1);
  const calls = reply?.kind === 'reply' ? reply.calls : [];
  const results: TranscriptEntry[] = [];
  for (const ref of input.results) {
    const call = calls.find((one) => one.callId === ref.callId);
    const content = ref.text ?? memory.content(ref.digest);
    if (call === undefined || content === undefined) return undefined;
    results.push(resultEntry(call, { content, success: ref.success }));
  }
  return results;
}

/** The run whose conversation this is; a reset or a new run has another. */
export function runOf(): string {
  const execution = Context.current().info.workflowExecution;
  return `${execution?.workflowId ?? ''}/${execution?.runId ?? ''}`;
}

/** Reads the whole transcript from the run that asked, page by page. */
async function readTranscript(): Promise<TranscriptEntry[]> {
  const { info, client } = Context.current();
  const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
  const handle = client.workflow.getHandle(workflowId, runId);
  const entries: TranscriptEntry[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: TranscriptPage = await handle.query<TranscriptPage, [TranscriptQuery]>(QUERIES.transcript, {
      from,
    });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}
