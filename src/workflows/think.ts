import { ActivityCancellationType, scheduleActivity, type ActivityOptions } from '@temporalio/workflow';
import { digestText } from '../contract/digest';
import { TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds } from '../contract/names';
import { replyEntry, resultEntry, utf8Bytes, type TranscriptEntry } from '../contract/transcript';
import type { ResultRef, ThinkInput, ThinkOutput, Usage } from '../contract/think';
import type { FinishedCall } from './step';
import type { Turn } from './turn';

/** Texts of ours that are longer than this are left to the `transcript` query. */
const INLINE_BYTES = 4096;

/** Asks the model for the next step: sends what is new, never the conversation. */
export function think(turn: Turn): Promise<ThinkOutput> {
  return scheduleActivity<ThinkOutput>(ACTIVITIES.think, [thinkInput(turn)], optionsOf(turn));
}

/** Takes what `think` gave: the reply and what it cost. */
export function takeThought(turn: Turn, output: ThinkOutput): ThinkOutput {
  takeReply(turn, output);
  turn.usage = addUsage(turn.usage, output.usage);
  return output;
}

/** Puts a reply into the transcript; the limits and the order of its agent hold from here on. */
export function takeReply(turn: Turn, output: ThinkOutput): void {
  turn.transcript.add(replyEntry(output));
  turn.maxSteps = output.maxSteps;
  turn.order = output.order;
}

/** Puts the words that a turn starts with into its transcript, once. */
export function takeWords(turn: Turn): string[] {
  const words = turn.transcript.entries.length === 0 ? [turn.prompt] : [];
  turn.transcript.add(...words.map((text): TranscriptEntry => ({ kind: 'words', text })));
  return words;
}

function thinkInput(turn: Turn): ThinkInput {
  const words = takeWords(turn);
  const model = turn.fork?.model;
  const after = lastReply(turn.transcript.entries);
  return {
    agent: turn.agent,
    ...(model === undefined ? {} : { model }),
    step: turn.step,
    ...(after === undefined ? {} : { after }),
    words,
    results: turn.results,
    droppedBefore: turn.transcript.droppedBefore,
  };
}

function lastReply(entries: readonly TranscriptEntry[]): ThinkInput['after'] {
  const index = entries.findLastIndex((entry) => entry.kind === 'reply');
  const entry = entries[index];
  return entry?.kind === 'reply' ? { replyId: entry.replyId, count: index + 1 } : undefined;
}

function optionsOf(turn: Turn): ActivityOptions {
  return {
    activityId: activityIds.think(turn.step),
    startToCloseTimeout: TIMES.thinkTimeout,
    heartbeatTimeout: TIMES.heartbeatTimeout,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 10 },
    // A model has no effect that anybody would have to wait for.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `step ${turn.step}`,
  };
}

function addUsage(sum: Usage, more: Usage | undefined): Usage {
  const total = { ...sum };
  for (const key of ['inputTokens', 'outputTokens', 'totalTokens'] as const) {
    const tokens = more?.[key];
    if (tokens !== undefined) total[key] = (total[key] ?? 0) + tokens;
  }
  return total;
}

/** Puts the results of a step into the transcript and counts them. */
export function takeResults(turn: Turn, finished: readonly FinishedCall[]): void {
  turn.results = finished.map(resultRef);
  turn.transcript.add(...finished.map(({ call, result }) => resultEntry(call, result)));
  for (const one of finished) count(turn, one);
}

function resultRef({ call, result, contentDigest, ours }: FinishedCall): ResultRef {
  const { content, success } = result;
  const inline = ours && utf8Bytes(content) <= INLINE_BYTES;
  const digest = contentDigest ?? digestText(content);
  return { callId: call.callId, digest, success, ...(inline ? { text: content } : {}) };
}

function count(turn: Turn, { call, result }: FinishedCall): void {
  const { counts, approvals } = turn;
  // It was counted where it ran.
  if (call.kind === 'recorded') return;
  counts.calls += 1;
  if (!result.success) counts.failed += 1;
  if (call.kind === 'ask') counts.requests += 1;
  if (result.error?.code === 'denied') counts.denied += 1;
  if (result.error?.code === 'expired') counts.expired += 1;
  if (approvals.calls.get(call.callId)?.edit !== undefined) counts.modified += 1;
}
