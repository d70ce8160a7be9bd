import {
  ActivityCancellationType,
  scheduleActivity,
  scheduleLocalActivity,
  type ActivityOptions,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { CallInput, CallOutput, SpentDecision, VerifyInput, VerifyOutput } from '../contract/call';
import { TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds } from '../contract/names';
import type { RetryOptions } from '../contract/tool';
import type { CallState } from './approvals/state';
import { summaryOf } from './summary';
import type { Turn } from './turn';

/** Runs one started call as an activity whose type is the tool's name. */
export function runCall(
  turn: Turn,
  state: CallState,
  decision: SpentDecision | undefined,
): Promise<CallOutput> {
  const input = inputOf(turn, state, decision);
  const { tool, settings } = state.call;
  return settings.local === true
    ? scheduleLocalActivity<CallOutput>(tool, [input], localOptions(state))
    : scheduleActivity<CallOutput>(tool, [input], activityOptions(state));
}

function inputOf(turn: Turn, state: CallState, decision: SpentDecision | undefined): CallInput {
  const { call } = state;
  return {
    callId: call.callId,
    id: call.id,
    tool: call.tool,
    agent: turn.agent,
    callKey: state.callKey,
    generation: state.generation,
    arguments: state.effective,
    argsDigest: state.effectiveDigest,
    toolDigest: call.toolDigest,
    effect: call.settings.effect,
    timeoutMs: call.settings.timeoutMs,
    originalRunId: turn.originalRunId,
    ...(turn.fork?.world === 'dry' ? { dry: true as const } : {}),
    ...(decision === undefined ? {} : { decision }),
    ...(state.edit === undefined || state.proposed === undefined ? {} : { proposed: state.proposed }),
    ...(state.plan === undefined ? {} : { plan: state.plan }),
  };
}

function activityOptions(state: CallState): ActivityOptions {
  const { callId, settings } = state.call;
  return {
    activityId: activityIds.call(callId, state.generation),
    startToCloseTimeout: settings.timeoutMs + TIMES.closeMargin,
    scheduleToStartTimeout: settings.startWithinMs,
    heartbeatTimeout: settings.heartbeatMs,
    retry: retryOf(state),
    // The outcome of a call that was running when the turn was cancelled has to be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
  };
}

function localOptions(state: CallState): LocalActivityOptions {
  return {
    startToCloseTimeout: state.call.settings.timeoutMs + TIMES.closeMargin,
    retry: retryOf(state),
    summary: summaryOf(state),
  };
}

/** Lost attempts of an unsafe call are never run again by us. */
function retryOf({ call: { settings } }: CallState): NonNullable<ActivityOptions['retry']> {
  return settings.effect === 'unsafe' ? { maximumAttempts: 1 } : toRetryPolicy(settings.retry);
}

function toRetryPolicy(retry: RetryOptions): NonNullable<ActivityOptions['retry']> {
  return {
    maximumAttempts: retry.maximumAttempts,
    initialInterval: retry.initialIntervalMs,
    backoffCoefficient: retry.backoffCoefficient,
    ...(retry.maximumIntervalMs === undefined ? {} : { maximumInterval: retry.maximumIntervalMs }),
  };
}

/** Asks the worker's journal, then the tool's `verify`, whether a call in doubt took effect. Changes nothing. */
export function verifyCall(agent: string, state: CallState): Promise<VerifyOutput> {
  const { callId, id, tool, settings } = state.call;
  const { callKey, generation, effective } = state;
  const input: VerifyInput = { agent, callId, id, tool, callKey, generation, arguments: effective };
  return scheduleActivity<VerifyOutput>(ACTIVITIES.verify, [input], {
    activityId: activityIds.verify(callId, generation),
    startToCloseTimeout: settings.timeoutMs + TIMES.closeMargin,
    heartbeatTimeout: settings.heartbeatMs,
    retry: { maximumAttempts: 5, initialInterval: 1000, backoffCoefficient: 2 },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `did ${callId} ${tool} happen?`,
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
  });
}
