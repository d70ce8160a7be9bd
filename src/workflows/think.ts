import type { RawValue } from '@temporalio/common';
import {
  ActivityCancellationType,
  ApplicationFailure,
  scheduleActivity,
  type ActivityOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { BurstInput, FirstInput } from '../contract/burst/burst';
import { digestText } from '../contract/digest';
import { isDry } from '../contract/dry-run';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds, FAILURES } from '../contract/names';
import { lastReplyText, replyEntry, resultEntry, type TranscriptEntry } from '../contract/transcript';
import { utf8Bytes } from '../contract/text/bytes';
import { addUsage } from '../contract/spending/usage';
import type { ResultRef, ThinkInput, ThinkOutput } from '../contract/think';
import { recordEntries } from '../contract/session/conversation';
import type { TurnRecord } from '../contract/session';
import { countCall } from './counts';
import { resetRun } from './current-build';
import { rawResult } from './messages';
import { takeUpWords } from './session/words';
import { budgetsOf } from './spending';
import { resultOf } from '../lifecycle/state';
import type { Turn, TurnEnding } from './turn-state';
import type { ToolResult } from '../contract/result';
import type { PreparedCall } from '../contract/call';
import { stepOfGiven, type TurnResult } from '../contract/turn';
import { isSessionState, type KnownState } from '../contract/tool';
import { requestersOf } from '../authority/votes/requesters';

/** A call that is over, with its result. */
interface FinishedCall {
  call: PreparedCall;
  result: ToolResult;
  /** Whether the result was made by this workflow, so that the worker cannot know its text. */
  ours: boolean;
}

/**
 * The most bytes of a result made by the workflow that is sent with the input. The worker reads longer results by the
 * `transcript` query.
 */
const INLINE_BYTES = 4096;

/**
 * Asks for the next steps, for the `asked`th time. A turn knows the mode of its agent from the first reply on. Before
 * that, it schedules a `think` that may answer as a burst.
 */
export function askForSteps(turn: Turn, asked: number): Promise<RawValue> {
  const { gate, spending, repeated } = turn;
  const input = thinkInput(turn);
  const ask = (type: string, all: ThinkInput): Promise<RawValue> =>
    scheduleActivity<RawValue>(type, [all], optionsOf(turn, asked), rawResult);
  if (gate === undefined) return ask(ACTIVITIES.think, spending.isSet ? input : firstInput(turn, input));
  const all: BurstInput = {
    ...input,
    burst: { ...gate, ...placeOf(turn), repeated, limits: budgetsOf(turn) },
  };
  return ask(ACTIVITIES.burst, all);
}

/** The input before the first reply. It stays small, because most agents take single steps. */
function firstInput(turn: Turn, input: ThinkInput): FirstInput {
  const { cap, spending, ofSession, repeated } = turn;
  const { budget, spent } = spending;
  const isFree = ofSession === undefined && spent.time === 0;
  const isUnlimited = isFree && Object.keys({ ...cap, ...budget }).length === 0;
  const limits = isUnlimited ? {} : { limits: budgetsOf(turn) };
  return {
    ...input,
    burst: { ...placeOf(turn), ...limits, repeated: repeated.times === 0 ? undefined : repeated },
  };
}

function placeOf(turn: Turn) {
  const { transcript, originalRunId } = turn;
  return { size: transcript.size, originalRunId, dry: isDry(turn) ? (true as const) : undefined };
}

/** Adds a reply and its token usage to the turn. */
export function takeReply(turn: Turn, output: ThinkOutput): void {
  delete turn.tried;
  appendReply(turn, output);
  turn.usage = addUsage(turn.usage, output.usage);
  if (turn.session !== undefined) turn.window = windowAfter(turn, output);
}

/**
 * The tokens that the provider counted for the first reply. Only the request for that reply has the first words of the
 * turn and nothing else from the turn. They do not count if outputs were left out later.
 */
function windowAfter(
  { step, window }: Turn,
  { compactOver, droppedBefore, usage }: ThinkOutput,
): Turn['window'] {
  const { shortened, tokens } = droppedBefore === undefined ? window : { shortened: true as const };
  return { compactOver, shortened, tokens: step === 1 ? usage?.inputTokens : tokens };
}

/** Adds a reply to the transcript. */
export function appendReply(turn: Turn, output: ThinkOutput): void {
  turn.transcript.dropBefore(output.droppedBefore ?? 0);
  turn.transcript.add(replyEntry(output));
  applyLimits(turn, output);
}

/**
 * The step that a fork begins with, that was taken along from another build, or whose call the turn was started with. It
 * is returned once. Undefined: the model is asked.
 */
export function applySeedStep(turn: Turn): ThinkOutput | undefined {
  const { moved } = turn;
  if (moved !== undefined) {
    applyLimits(turn, moved.reply);
    return { ...moved.reply, text: lastReplyText(turn.transcript.entries) };
  }
  const given = turn.given ?? calledStep(turn);
  if (given === undefined) return undefined;
  delete turn.given;
  appendReply(turn, given);
  return given;
}

/** The step of a turn that was started with its call. No other run, on any server, has a call with the same key. */
function calledStep({ call, originalRunId }: Turn): ThinkOutput | undefined {
  if (call === undefined) return undefined;
  const { namespace, taskQueue } = workflowInfo();
  return stepOfGiven(call, { replyId: `${originalRunId}:${namespace}`.slice(0, REPLY_ID), taskQueue });
}

const REPLY_ID = 200;

/** Takes over the limits and the order that a reply brings, for the next steps. */
function applyLimits(turn: Turn, output: ThinkOutput) {
  turn.maxSteps = output.maxSteps;
  turn.order = output.order;
  turn.repeats = output.repeats;
  turn.gate = output.gate;
}

/** What the next run needs to know about shared state. */
export function statesOf({ states }: Turn): [string, KnownState][] {
  return states.carried(resetRun());
}

/** The record that a session keeps of a turn. In the middle of a step it has the results so far. */
export function turnRecordOf(turn: Turn): TurnRecord {
  const { transcript, approvals, words, window, ofSession, spending } = turn;
  const { entries } = transcript;
  const last = entries.at(-1);
  const open = last?.kind === 'reply' ? last.calls : [];
  const results = open.flatMap((call) => {
    const result = resultOf(approvals.calls.get(call.callId));
    return result === undefined ? [] : [resultEntry(call, result)];
  });
  const spent = ofSession && { ...ofSession, spent: spending.spent };
  const known = statesOf(turn).filter(([key]) => isSessionState(key));
  const states = turn.session && { runId: turn.session.runId, known };
  return {
    entries: recordEntries([...entries, ...results]),
    took: words.took,
    requesters: requestersOf(turn.origin),
    ...window,
    spending: spent,
    states,
  };
}

/** The result of a turn that ends after this reply. */
export function resultOfTurn(
  turn: Turn,
  { status, why }: TurnEnding,
  { text, value }: Pick<ThinkOutput, 'text' | 'value'>,
): TurnResult {
  const { step: steps, counts, usage, session, spending } = turn;
  const conversation = session && turnRecordOf(turn);
  const some = { value, why, conversation, others: turn.origin?.others };
  return { status, answer: text, steps, counts, usage, spent: spending.spent, ...some };
}

/** The input of the next `think`: only what is new, never the conversation. Takes up the words that are new. */
export function thinkInput(turn: Turn): ThinkInput {
  if (turn.transcript.full) {
    throw ApplicationFailure.nonRetryable(
      'the words and replies of the transcript are over its limit, even without outputs',
      FAILURES.turn,
    );
  }
  takeUpWords(turn);
  const { entries } = turn.transcript;
  const after = lastReply(entries);
  const added = entries
    .slice(after?.count ?? 0)
    .flatMap((entry) => (entry.kind === 'words' ? [[entry.text, entry.files ?? []] as const] : []));
  const files = added.map(([, ofOne]) => ofOne);
  return {
    agent: turn.agent,
    step: turn.step,
    words: added.map(([text]) => text),
    files: files.every(({ length }) => length === 0) ? undefined : files,
    results: turn.results,
    droppedBefore: turn.transcript.droppedBefore,
    origin: turn.origin,
    model: turn.fork?.model,
    after,
    cutTo: turn.cutTo,
    context: turn.fork?.context,
    session: turn.session,
    tried: turn.tried,
  };
}

function lastReply(entries: readonly TranscriptEntry[]): ThinkInput['after'] {
  const index = entries.findLastIndex((entry) => entry.kind === 'reply');
  const entry = entries[index];
  return entry?.kind === 'reply' ? { replyId: entry.replyId, count: index + 1 } : undefined;
}

function optionsOf({ step, gate }: Turn, asked: number): ActivityOptions {
  const both = {
    heartbeatTimeout: TIMES.heartbeatTimeout,
    // The activity decides how often and when to retry, because it knows why an attempt failed and what the agent
    // allows.
    retry: OWN_RETRY,
  };
  if (gate === undefined)
    return {
      ...both,
      activityId: activityIds.think(step, asked),
      startToCloseTimeout: TIMES.thinkTimeout,
      // A model call has no effect, so a cancelled turn does not wait for its end.
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      summary: `step ${step}`,
    };
  return {
    ...both,
    activityId: activityIds.burst(step, asked),
    startToCloseTimeout: gate.commitMs + TIMES.thinkTimeout + TIMES.burstCall + TIMES.closeMargin,
    // A cancelled burst gives back the steps that it has finished, and they stay on record.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `from step ${step}`,
  };
}

/** Takes the results of a step whose calls are over. Returns them, in the model's order. */
export function endStep(turn: Turn, calls: readonly PreparedCall[]): ToolResult[] {
  const finished = calls.map((call): FinishedCall => {
    const state = turn.approvals.calls.get(call.callId);
    if (state?.phase === 'done')
      return { call, result: state.result, ours: state.contentDigest === undefined };
    // The result of a call that never runs was prepared together with it.
    if (call.kind === 'invalid' || call.kind === 'recorded')
      return { call, result: call.result, ours: false };
    throw new Error(`call ${call.callId} ended without a result`);
  });
  appendResults(turn, finished);
  return finished.map(({ result }) => result);
}

/** Adds the results of a step to the transcript, counts them, and keeps what the next `think` is given of them. */
export function appendResults(turn: Turn, finished: readonly FinishedCall[]): void {
  turn.results = finished.map(resultRef);
  addResults(turn, finished);
}

/** Adds the results of a step to the transcript and counts them. */
export function addResults(turn: Turn, finished: readonly FinishedCall[]): void {
  turn.cutTo = turn.transcript.addResults(finished.map(({ call, result }) => resultEntry(call, result)));
  for (const one of finished) countCall(turn, one);
}

function resultRef({ call, result, ours }: FinishedCall): ResultRef {
  const { content, success } = result;
  const inline = ours && utf8Bytes(content) <= INLINE_BYTES;
  // The digest in the output of an activity may be that of another text, which an operator wants the model to read.
  const digest = digestText(content);
  return { callId: call.callId, digest, success, text: inline ? content : undefined };
}
