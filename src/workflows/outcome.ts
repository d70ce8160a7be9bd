import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { AskAgain, ChildReady, NotHere, Paused, VerifyOutput } from '../contract/call';
import type { UsedState } from '../contract/tool';
import { readCallOutput, readResult, readVerifyOutput } from '../contract/payloads';
import { failureOf } from './approvals/transitions';
import { settleDoubt } from './approvals/doubts';
import { type CallState, markChanged, type Settlement } from './approvals/state';
import { decodedValueOf } from './messages';
import { MOST_ASKED } from './think';
import { verifyCall } from './call-activities';
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

/** Asks in the background whether a call in doubt took effect. Stops asking when a person resolves the call first. */
export function startVerify(turn: Turn, state: CallState, nonCancellable: CancellationScope): void {
  turn.counts.inDoubt += 1;
  const { generation } = state;
  const scope = new CancellationScope({ cancellable: true, parent: nonCancellable });
  void scope.run(() => askVerify(turn, state)).catch(ignoreCancellation);
  const isSettled = (): boolean => state.phase !== 'in_doubt' || state.generation !== generation;
  void nonCancellable.run(() => condition(isSettled)).then(() => scope.cancel());
}

async function askVerify(turn: Turn, state: CallState): Promise<void> {
  const { generation } = state;
  const answer = await verified(turn, state).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return undefined;
  });
  if (answer === undefined || answer.outcome === 'cannot_tell' || state.generation !== generation) return;
  // The handler still runs, so the call may still take effect.
  if (answer.outcome === 'did_not' && state.doubt?.running === true) return;
  const now = Date.now();
  const result =
    answer.outcome === 'happened'
      ? answer.result
      : failureOf(state, { code: 'transport', message: answer.message }, now);
  if (settleDoubt(turn.approvals, state, result)) markChanged(turn);
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

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}

/** Reads what the activity of a call returned. A result that cannot be read leaves an unsafe call in doubt. */
export function settlementIn(state: CallState, result: RawValue): Settlement | NotHere | Paused | ChildReady {
  const { callId, settings } = state.call;
  const output = readCallOutput(decodedValueOf(result), { callId, secret: state.secret });
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
  error: unknown,
  now: number,
): Exclude<Settlement, AskAgain> | NotHere {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const activity = lostActivity(cause, isCancellation(error));
  const { settings } = state.call;
  const isHeld = state.placed?.holder !== undefined;
  const { effect } = settings;
  const times = { ...timeoutsOf(settings, isHeld), openMs: now - state.scheduledAt };
  const moved = isHeld ? goesElsewhere(activity, { effect, times }) : undefined;
  if (moved !== undefined) {
    if (moved.mayHaveRun) state.mayHaveRun = true;
    return { notHere: HOLDER_GONE };
  }
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
