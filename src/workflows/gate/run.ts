import {
  ActivityCancellationType,
  type ActivityOptions,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  scheduleActivity,
} from '@temporalio/workflow';
import { ENDINGS, STARTED_BEFORE } from '../../contract/call-texts';
import { activityIds, idempotencyKey } from '../../contract/names';
import { failureOf, successOf } from '../../lifecycle/results';
import type { Settlement } from '../../lifecycle/starts';
import { type CallState, resultOf, type RunningCall } from '../../lifecycle/state';
import { act } from '../approvals';
import { liveCall } from '../call-life';
import { retryOf } from '../call-activities';
import { summaryOf } from '../summary';
import { toGateAllowed, close, forbiddenBy, GateCall, type GateState, open } from './asked';
import { type GateAllowed, type PlainRequest, toPlain } from './request';
import {
  type Ended,
  endedBy,
  type GateOutcome,
  type GateRunRequest,
  gateOutcomeOf,
  runSettings,
} from './run-request';

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
  const callId = open(gate, request, runSettings(activity, given));
  const unwatch = watchCancellation(gate, callId);
  const call = new RunCall<A, R>(gate, callId, request, given.heartbeat !== undefined);
  try {
    const state = await liveCall(call);
    const { allowed, ended } = call;
    if (allowed === undefined || ended === undefined)
      return { ...forbiddenBy(gate, state), outcome: 'not_run' };
    if (state.result.error?.code === 'cancelled') throw new CancelledFailure(state.result.error.message);
    return gateOutcomeOf(allowed, state, ended);
  } catch (error) {
    if (isCancellation(error)) act(gate, { type: 'withdraw', callId });
    throw error;
  } finally {
    unwatch();
    close(gate, callId);
  }
}

/**
 * Marks a call whose scope is cancelled. It does not run again, and it can be abandoned. A scope may see thousands of
 * calls, so it gets one listener, which knows only the calls that are open. Returns a function that ends the watch.
 */
function watchCancellation(gate: GateState, callId: string): () => void {
  const scope = CancellationScope.current();
  const calls = gate.watched.get(scope) ?? new Set();
  calls.add(callId);
  if (!gate.watched.has(scope)) {
    gate.watched.set(scope, calls);
    void scope.cancelRequested.catch(() => {
      for (const one of calls) act(gate, { type: 'scope_cancelled', callId: one });
    });
  }
  return () => void calls.delete(callId);
}

/** A call that a gate runs as an activity. */
class RunCall<A extends object, R> extends GateCall<A> {
  allowed: GateAllowed<A> | undefined;
  /** How its last start ended. */
  ended: Ended<R> | undefined;

  constructor(
    gate: GateState,
    callId: string,
    request: PlainRequest<A>,
    private readonly hasHeartbeat: boolean,
  ) {
    super(gate, callId, request);
  }

  async place(): Promise<void> {
    // Temporal schedules nothing in a cancelled scope.
    if (CancellationScope.current().consideredCancelled) {
      act(this.context, { type: 'withdraw', callId: this.callId });
      const message = resultOf(this.state)?.error?.message ?? ENDINGS.neverStarted.message;
      throw new CancelledFailure(message);
    }
    this.allowed ??= toGateAllowed(this.state, this.request);
  }

  async attempt(state: RunningCall): Promise<Settlement> {
    const scheduledAt = Date.now();
    // History has to hold the decision before the call that it allows.
    this.context.changes.look();
    const { callId, settings } = state.call;
    const activityId = activityIds.call(callId, state.generation);
    const args = [state.effective, idempotencyKey(state)];
    const options = { ...optionsOf(state, this.hasHeartbeat), activityId };
    const ended: Ended<R> = await scheduleActivity<R>(settings.gate?.activity ?? '', args, options).then(
      (value) => ({ value }),
      (error: unknown) => endedBy(state, error, Date.now() - scheduledAt),
    );
    // After a reset, the end of one start says nothing about the start before the reset.
    this.ended = this.state.phase === 'running' ? ended : { doubt: STARTED_BEFORE };
    return settlementOf(this.state, ended);
  }
}

function optionsOf(state: RunningCall, hasHeartbeat: boolean): ActivityOptions {
  const { timeoutMs, heartbeatMs, startWithinMs, taskQueue } = state.call.settings;
  return {
    startToCloseTimeout: timeoutMs,
    scheduleToStartTimeout: startWithinMs,
    retry: retryOf(state),
    // The outcome of a running call must be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    taskQueue,
    heartbeatTimeout: hasHeartbeat ? heartbeatMs : undefined,
  };
}

function settlementOf<R>(state: CallState, ended: Ended<R>): Settlement {
  if ('value' in ended) return { result: successOf(state, '', Date.now()) };
  if ('doubt' in ended) return { inDoubt: { message: ended.doubt } };
  return { result: failureOf(state, ended.failure, Date.now()) };
}
