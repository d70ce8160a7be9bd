import { ActivityCancellationType, type ActivityOptions, scheduleActivity } from '@temporalio/workflow';
import { mayHaveRun } from '../../contract/call-texts';
import { idempotencyKey } from '../../contract/names';
import { outputOf } from '../../contract/result';
import { approvalNote } from '../../lifecycle/results';
import type { CallState, DoneCall } from '../../lifecycle/state';
import { retryOf } from '../call-rounds';
import { summaryOf } from '../summary';
import { forbiddenBy, opened, toGateAllowed } from './ask';
import { type Ended, runOpen, type Start } from './run-call';
import { type GateAllowed, readRequest } from './request';
import { type GateOutcome, type GateRunRequest, runSettings } from './run-request';
import type { GateState } from './the-gate';

/**
 * Asks a person about a call, runs the call as an activity when it is allowed, and waits for a person if the outcome
 * is unknown.
 */
export async function askAndRun<A extends object, R>(
  gate: GateState,
  activity: string,
  request: GateRunRequest<A>,
): Promise<GateOutcome<A, R>> {
  const read = readRequest(request, runSettings(activity, request));
  const plain = { ...read, asked: { ...read.asked, hasKey: true as const } };
  const { callId, refused } = await opened(gate, plain, request.callId);
  if (refused !== undefined) return { ...refused, outcome: 'not_run' };
  const schedule = ({ state, activityId }: Start): Promise<R> =>
    scheduleActivity<R>(activity, [state.effective, idempotencyKey(state)], {
      ...optionsOf(state, request.heartbeat !== undefined),
      activityId,
    });
  const { state, ended } = await runOpen(gate, plain.asked, { callId, schedule });
  return ended === undefined
    ? { ...forbiddenBy(gate, state), outcome: mayHaveRun(state) ? 'unknown' : 'not_run' }
    : gateOutcomeOf(toGateAllowed(state, { request, plain }), { state, ended });
}

function optionsOf(state: CallState, hasHeartbeat: boolean): ActivityOptions {
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

/** The outcome that the workflow gets for an allowed call that has ended. */
export function gateOutcomeOf<A extends object, R>(
  allowed: GateAllowed<A>,
  { state, ended }: { state: DoneCall; ended: Ended<R> },
): GateOutcome<A, R> {
  const { success, error } = state.result;
  if (success && 'value' in ended) return { ...allowed, outcome: 'done', result: ended.value };
  if (success)
    return { ...allowed, outcome: 'happened', message: outputOf(state.result, approvalNote(state)) };
  const isKnown = 'known' in ended ? ended.known : error?.code !== 'in_doubt';
  return { ...allowed, outcome: isKnown ? 'failed' : 'unknown', message: error?.message ?? '' };
}
