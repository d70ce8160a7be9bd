import {
  ActivityCancellationType,
  type ActivityOptions,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  scheduleActivity,
} from '@temporalio/workflow';
import { ENDINGS, STARTED_BEFORE } from '../../contract/call-texts';
import { activityIds, idempotencyKey } from '../../contract/names';
import { closeCall, failureOf, settle, start, successOf, withdraw } from '../approvals/transitions';
import { isCancelled } from '../approvals/doubts';
import { type CallState, markChanged, type Settlement } from '../approvals/state';
import { retryOf } from '../call-activities';
import { summaryOf } from '../summary';
import { toGateAllowed, close, untilDecided, forbiddenBy, type GateState, open } from './asked';
import { gateFailure, toPlain } from './request';
import {
  type Ended,
  endedBy,
  type GateOutcome,
  type GateRunRequest,
  gateOutcomeOf,
  runSettings,
} from './run-request';
import { sweepAbandoned } from '../approvals/abandon';

/**
 * Asks a person about a call, runs the call as an activity when it is allowed, and waits for a person if the outcome
 * is unknown.
 */
export async function askAndRun<A extends object, R>(
  gate: GateState,
  activity: string,
  given: GateRunRequest<A>,
): Promise<GateOutcome<A, R>> {
  const request = toPlain(given);
  const state = open(gate, request, runSettings(activity, given));
  const unwatch = watchCancellation(gate, state);
  try {
    await untilDecided(gate, state, request);
    if (state.phase === 'done') return { ...forbiddenBy(state), outcome: 'not_run' };
    if (state.held === undefined) throw gateFailure(`call ${state.call.callId} was never decided`);
    const allowed = toGateAllowed(state.held, state, request);
    const ended = await untilKnown<R>(gate, state, optionsOf(given, state));
    if (state.result?.error?.code === 'cancelled') throw new CancelledFailure(state.result.error.message);
    return gateOutcomeOf(allowed, state, ended);
  } catch (error) {
    if (isCancellation(error)) closeUnstarted(gate, state);
    throw error;
  } finally {
    unwatch();
    close(gate, state);
  }
}

/**
 * Marks a call whose scope is cancelled. It does not run again, and it can be abandoned. A scope may see thousands of
 * calls, so it gets one listener, which knows only the calls that are open. Returns a function that ends the watch.
 */
function watchCancellation(gate: GateState, state: CallState): () => void {
  const scope = CancellationScope.current();
  const calls = gate.watched.get(scope) ?? new Set();
  calls.add(state);
  if (!gate.watched.has(scope)) {
    gate.watched.set(scope, calls);
    void scope.cancelRequested.catch(() => {
      for (const one of calls) one.cancelled = true;
      markChanged(gate);
    });
  }
  return () => void calls.delete(state);
}

function closeUnstarted({ approvals }: GateState, state: CallState): void {
  const now = Date.now();
  withdraw(approvals, state, now);
  if (state.phase !== 'ready') return;
  closeCall(approvals, state, {
    cause: 'neverStarted',
    result: failureOf(state, ENDINGS.neverStarted, now),
  });
}

/** Runs the call until its outcome is known. The call runs again if a person asks for that. */
async function untilKnown<R>(gate: GateState, state: CallState, options: ActivityOptions): Promise<Ended<R>> {
  for (;;) {
    // Temporal schedules nothing in a cancelled scope.
    if (CancellationScope.current().consideredCancelled) {
      closeUnstarted(gate, state);
      throw new CancelledFailure(state.result?.error?.message ?? ENDINGS.neverStarted.message);
    }
    start(state);
    state.scheduledAt = Date.now();
    markChanged(gate);
    // History has to hold the decision before the call that it allows.
    gate.changes.publish();
    const ended = await attempt<R>(state, options);
    const isDoubted = state.phase !== 'running';
    settle(gate.approvals, state, { settlement: settlementOf(state, ended), now: Date.now() });
    markChanged(gate);
    await resolved(gate, state);
    // After a reset, the end of one start says nothing about the start before the reset.
    if (state.phase === 'done') return isDoubted ? { doubt: STARTED_BEFORE } : ended;
  }
}

function attempt<R>(state: CallState, options: ActivityOptions): Promise<Ended<R>> {
  const { callId, settings } = state.call;
  const activityId = activityIds.call(callId, state.generation);
  const args = [state.effective, idempotencyKey(state)];
  return scheduleActivity<R>(settings.gate?.activity ?? '', args, { ...options, activityId }).then(
    (value) => ({ value }),
    (error: unknown) => endedBy(state, error, Date.now()),
  );
}

function optionsOf<A extends object>({ heartbeat }: GateRunRequest<A>, state: CallState): ActivityOptions {
  const { timeoutMs, heartbeatMs, startWithinMs, taskQueue } = state.call.settings;
  return {
    startToCloseTimeout: timeoutMs,
    scheduleToStartTimeout: startWithinMs,
    retry: retryOf(state),
    // The outcome of a running call must be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    taskQueue,
    heartbeatTimeout: heartbeat === undefined ? undefined : heartbeatMs,
  };
}

function settlementOf<R>(state: CallState, ended: Ended<R>): Settlement {
  if ('value' in ended) return { result: successOf(state, '', Date.now()) };
  if ('doubt' in ended) return { inDoubt: { message: ended.doubt } };
  return { result: failureOf(state, ended.failure, Date.now()) };
}

/** Waits while the call is in doubt. In a cancelled scope, this lasts until a person resolves or abandons the call. */
async function resolved({ approvals }: GateState, state: CallState): Promise<void> {
  const isAbandoned = (): boolean => isCancelled(approvals, state) && approvals.abandoned !== undefined;
  const isOver = (): boolean => state.phase !== 'in_doubt' || isAbandoned();
  await CancellationScope.nonCancellable(() => condition(isOver));
  sweepAbandoned(approvals, Date.now());
}
