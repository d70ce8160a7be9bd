import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { AskAgain, ChildReady, NotHere, Paused, VerifyOutput } from '../contract/call';
import type { UsedState } from '../contract/tool';
import { readCallOutput, readResult, readVerifyOutput } from '../contract/payloads';
import { failureOf } from '../lifecycle/results';
import type { Settlement } from '../lifecycle/starts';
import { type CallState, secretOf } from '../lifecycle/state';
import { act, callIn } from './approvals';
import { decodedValueOf } from './messages';
import { MOST_ASKED } from './think';
import { type CallAttempt, verifyCall } from './call-activities';
import type { Turn } from './turn-state';
import { unreadable, UNREADABLE } from '../contract/call-texts';
import {
  goesElsewhere,
  HOLDER_GONE,
  type LostActivity,
  settleLost,
  timeoutsOf,
} from '../contract/lost-activity';
import type { ToolResult } from '../contract/result';
import { errorMessage } from '../contract/errors';
import { FAILURES } from '../contract/names';

/** Asks whether a call in doubt took effect. Somebody may resolve the call first. */
export async function askVerify(turn: Turn, callId: string): Promise<void> {
  const asked = callIn(turn, callId);
  const answer = await verified(turn, asked).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return undefined;
  });
  const state = turn.approvals.calls.get(callId);
  if (answer === undefined || answer.outcome === 'cannot_tell') return;
  if (state?.phase !== 'in_doubt' || state.generation !== asked.generation) return;
  // The handler still runs, so the call may still take effect.
  if (answer.outcome === 'did_not' && state.doubt.running === true) return;
  const result =
    answer.outcome === 'happened'
      ? answer.result
      : failureOf(state, { code: 'transport', message: answer.message }, Date.now());
  act(turn, { type: 'prove', callId, result });
}

/**
 * Asks again if the answer cannot be read, at most three times in all. After that only a person can resolve the
 * call.
 */
async function verified(turn: Turn, state: CallState): Promise<VerifyOutput | undefined> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const answer = readVerifyOutput(decodedValueOf(await verifyCall(turn, state, asked)), state.call.callId);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** What the end of a call's activity means. */
export function outcomeOf(state: CallState, attempt: CallAttempt, running: Promise<RawValue>): Promise<Said> {
  return running.then(
    (result) => settlementIn(state, result),
    (error: unknown) => settlementOf(state, attempt, { error, now: Date.now() }),
  );
}

/** How a call ended, that it did not start, or that it goes on as a child turn. */
type Said = Settlement | (NotHere & { mayHaveRun?: true }) | Paused | ChildReady;

/** Reads what the activity of a call returned. A result that cannot be read leaves an unsafe call in doubt. */
export function settlementIn(state: CallState, result: RawValue): Said {
  const { callId, settings } = state.call;
  const output = readCallOutput(decodedValueOf(result), { callId, secret: secretOf(state) });
  // Only outputs of the known forms count: anybody may have written the result.
  if (output !== undefined && 'result' in output) {
    const { contentDigest, holder } = output;
    return { result: output.result, contentDigest, holder };
  }
  if (output !== undefined && !('child' in output && settings.child === undefined)) return output;
  if (settings.effect === 'unsafe') return { inDoubt: { message: UNREADABLE } };
  return { result: failureOf(state, unreadable(), Date.now()) };
}

/**
 * Decides what a failed activity means for its call. If the worker that held the state did not take the call,
 * another worker may take it.
 */
export function settlementOf(
  state: CallState,
  { placed, scheduledAt }: CallAttempt,
  { error, now }: { error: unknown; now: number },
): Exclude<Settlement, AskAgain> | (NotHere & { mayHaveRun?: true }) {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const activity = lostActivity(cause, isCancellation(error));
  const { settings } = state.call;
  const isHeld = placed?.holder !== undefined;
  const { effect } = settings;
  const times = { ...timeoutsOf(settings, isHeld), openMs: now - scheduledAt };
  const moved = isHeld ? goesElsewhere(activity, { effect, times }) : undefined;
  if (moved !== undefined) return { notHere: HOLDER_GONE, ...(moved.mayHaveRun ? { mayHaveRun: true } : {}) };
  const lost = settleLost(activity, { effect, times });
  if ('doubt' in lost) return { inDoubt: { message: lost.doubt } };
  if (lost.known) return { result: failureOf(state, lost.failure, now) };
  const result = lastResult(cause, state.call.callId) ?? failureOf(state, lost.failure, now);
  // A local activity that was cancelled leaves no event.
  return activity.cancelled && settings.local === true
    ? { result, cause: 'cancelled' }
    : { result, holder: null };
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

/** The last result of a call that was retried. It is in the failure that asked for the retry. */
function lastResult(cause: unknown, callId: string): ToolResult | undefined {
  if (!(cause instanceof ApplicationFailure) || cause.type !== FAILURES.retry) return undefined;
  const [result] = cause.details ?? [];
  return readResult(result, callId);
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
