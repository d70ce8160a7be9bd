import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancelledFailure,
  isCancellation,
  scheduleActivity,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { CallOutput, VerifyInput, VerifyOutput } from '../contract/call';
import type { UsedState } from '../contract/tool';
import { readVerifyOutput } from '../contract/call-payloads';
import { proofIn } from '../lifecycle/doubts';
import { lastResult, outcomeIn, outcomeOfLost } from '../lifecycle/outcomes';
import type { Settlement } from '../lifecycle/starts';
import type { CallState } from '../lifecycle/state';
import { act, callIn } from './call-life';
import { decodedValueOf, MOST_ASKED, rawResult } from './messages';
import type { CallAttempt } from './call-activities';
import type { Caller } from './call-rounds';
import type { LostActivity } from '../contract/lost-activity';
import { errorMessage } from '../contract/errors';
import { OWN_RETRY, TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds, FAILURES } from '../contract/names';

/** The workflow that asks. Absent origin: nobody knows who asked for it. */
type Asker = Caller & Pick<VerifyInput, 'origin'>;

/** Asks whether a call in doubt took effect. Somebody may resolve the call first. */
export async function askVerify(turn: Asker, callId: string): Promise<void> {
  const asked = callIn(turn, callId);
  const answer = await verified(turn, asked).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return undefined;
  });
  const state = turn.approvals.calls.get(callId);
  if (answer === undefined || state?.phase !== 'in_doubt' || state.generation !== asked.generation) return;
  const result = proofIn(state, answer, Date.now());
  if (result !== undefined) act(turn, { type: 'prove', callId, result });
}

/**
 * Asks again if the answer cannot be read, at most three times in all. After that only a person can resolve the
 * call.
 */
async function verified(turn: Asker, state: CallState): Promise<VerifyOutput | undefined> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const answer = readVerifyOutput(decodedValueOf(await verifyCall(turn, state, asked)), state.call.callId);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Asks the worker's journal and then the tool's `verify` whether a call in doubt took effect. Changes nothing. */
function verifyCall(turn: Asker, state: CallState, asked: number): Promise<RawValue> {
  const { callId, id, tool, settings } = state.call;
  const { callKey, generation, effective } = state;
  const head = { agent: turn.agent, origin: turn.origin, callId, id, tool };
  const input: VerifyInput = { ...head, callKey, generation, arguments: effective };
  const options: ActivityOptions = {
    activityId: activityIds.verify(callId, generation, asked),
    startToCloseTimeout: settings.timeoutMs + TIMES.closeMargin,
    heartbeatTimeout: settings.heartbeatMs,
    // The activity decides how often to retry: it may wait for a worker that has the tool.
    retry: OWN_RETRY,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `did ${callId} ${tool} happen?`,
    taskQueue: settings.taskQueue,
  };
  return scheduleActivity<RawValue>(ACTIVITIES.verify, [input], options, rawResult);
}

/** What the end of a call's activity means: how the call ended, that it did not start, or that it is a child turn. */
export function outcomeOf(
  state: CallState,
  attempt: CallAttempt,
  running: Promise<RawValue>,
): Promise<CallOutput | ReturnType<typeof outcomeOfLost>> {
  return running.then(
    (result) => outcomeIn(state, decodedValueOf(result), Date.now()),
    (error: unknown) => settlementOf(state, attempt, { error, now: Date.now() }),
  );
}

/** Decides what a failed activity means for its call. */
export function settlementOf(
  state: CallState,
  { placed, scheduledAt }: CallAttempt,
  { error, now }: { error: unknown; now: number },
): ReturnType<typeof outcomeOfLost> {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const last = cause instanceof ApplicationFailure ? lastResult(cause, state.call.callId) : undefined;
  const isHeld = placed?.holder !== undefined;
  const times = { openMs: now - scheduledAt, now };
  return outcomeOfLost(state, lostActivity(cause, isCancellation(error)), { isHeld, last, ...times });
}

/** The reason that the server gives when it cancels an activity that no worker has started. */
const NOT_STARTED = 'ACTIVITY_ID_NOT_STARTED';

/** How an activity ended without an outcome. */
export function lostActivity(cause: unknown, cancelled: boolean): LostActivity {
  return {
    cancelled,
    untaken: cause instanceof CancelledFailure && cause.details[0] === NOT_STARTED,
    timeout: cause instanceof TimeoutFailure ? cause.timeoutType : undefined,
    beaten: cause instanceof TimeoutFailure && cause.lastHeartbeatDetails !== undefined,
    type: cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined,
    message: errorMessage(cause),
  };
}

/**
 * The failure of a turn whose model failed for good. No other activity can fail a turn, because the calls of a step
 * never throw.
 */
export function turnModelFailure({ cause, message }: ActivityFailure): ApplicationFailure {
  return ApplicationFailure.create({
    type: FAILURES.model,
    message: cause?.message ?? message,
    nonRetryable: true,
  });
}

/**
 * What is known about the worker that holds the shared state. Null: a call in doubt may have made state on an unknown
 * worker.
 */
export function usedIn(settlement: Settlement): UsedState {
  if ('inDoubt' in settlement) return { holder: settlement.holder ?? null };
  return 'result' in settlement && settlement.holder !== undefined ? { holder: settlement.holder } : {};
}
