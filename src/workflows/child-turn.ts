import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  type ChildWorkflowHandle,
  type ChildWorkflowOptions,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  scheduleActivity,
  startChild,
  TerminatedFailure,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { type RawValue, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { tokensOf } from '../contract/spending/usage';
import {
  addSpent,
  emptyKind,
  noSpending,
  restOf,
  shareOf,
  smallerOf,
  type Spent,
} from '../contract/spending/budget';
import {
  type ChildEnd,
  childResult,
  childTurnId,
  type ChildWaitInput,
  isTurnResult,
  readChildEnd,
  startOf,
  type TurnInput,
  type TurnResult,
} from '../contract/turn';
import { errorMessage } from '../contract/errors';
import { LIMITS, OWN_RETRY, TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds, WORKFLOWS } from '../contract/names';
import { resultHead, type ToolResult } from '../contract/result';
import { factsOf, noted } from '../lifecycle/results';
import type { CallState } from '../lifecycle/state';
import { act } from './call-life';
import { rawResult, decodedValueOf } from './messages';
import { originOfCall } from './session/words';
import type { Turn } from './turn-state';
import type { CallSettings, CallInput, CallOutput } from '../contract/call';

/** How a turn is started as the child of another workflow. */
interface ChildTurnStart {
  turn: string;
  input: TurnInput;
  /** Absent: the task queue of the parent. */
  taskQueue?: string;
}

/**
 * The options with which a workflow starts a turn as its child. Lists show it like a turn that the client started. Its
 * id is used only once. When its parent closes, the child is asked to end.
 */
function childTurnOptions({ turn, input, taskQueue }: ChildTurnStart): ChildWorkflowOptions & {
  args: [TurnInput];
} {
  return {
    args: [input],
    workflowId: turn,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    // As for a running call, the outcome must be known, not assumed.
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    ...startOf(input, input.prompt),
    taskQueue,
  };
}

type TurnWorkflow = (input: TurnInput) => Promise<TurnResult>;

/**
 * Starts a turn as a child, which is cancelled with the scope that starts it. The SDK would cancel only the first run
 * of the child. If that run has continued as new, the server does nothing, so this function cancels the current run.
 */
export async function startChildTurn(child: ChildTurnStart): Promise<ChildWorkflowHandle<TurnWorkflow>> {
  const scope = CancellationScope.current();
  if (scope.consideredCancelled) throw new CancelledFailure('the child turn was not started');
  const start = () => startChild<TurnWorkflow>(WORKFLOWS.turn, childTurnOptions(child));
  const handle = await CancellationScope.nonCancellable(start);
  scope.cancelRequested.catch(() => {
    const cancelled = CancellationScope.nonCancellable(() => getExternalWorkflowHandle(child.turn).cancel());
    // The child has ended by then.
    cancelled.catch(() => undefined);
  });
  return handle;
}

/** The id of the child turn of a call. */
function childOf(turn: Turn, { call }: Pick<CallState, 'call'>) {
  return childTurnId(workflowInfo().workflowId, { callId: call.callId, replyId: turn.stepKey });
}

/**
 * Counts a child turn and puts aside its share of the budget. This happens before a worker checks whether the child turn
 * may start.
 */
export function reserveChild(turn: Turn, { call }: CallState): void {
  const { reserved } = turn;
  if (call.settings.child === undefined || reserved.has(call.callId)) return;
  const open = [...turn.approvals.calls.values()].filter(
    (one) => one.call.settings.child !== undefined && one.phase !== 'done',
  );
  const given = open.flatMap((one) => reserved.get(one.call.callId)?.given ?? []);
  const among = open.length - given.length;
  const { budget, spent } = turn.spending;
  const { ofSession } = turn;
  const mine = smallerOf(smallerOf(budget, turn.cap), ofSession && restOf(ofSession.budget, ofSession.spent));
  const share = shareOf(mine, { spent, given, among }) ?? {};
  reserved.set(call.callId, { given: share, before: turn.children });
  turn.children += 1;
}

/** The facts that a worker needs about a child turn that is about to start. Undefined for any other call. */
export function askedChild(turn: Turn, state: CallState): CallInput['child'] {
  const reserved = turn.reserved.get(state.call.callId);
  if (reserved === undefined) return undefined;
  const { given, before } = reserved;
  const none = emptyKind(given);
  return { turn: childOf(turn, state), depth: turn.lineage.length, started: before, none };
}

/**
 * Takes back the count and the budget of a child turn that no worker let start. If the call starts again, both are new.
 */
export function releaseChild(turn: Turn, callId: string): void {
  if (turn.reserved.delete(callId)) turn.children -= 1;
}

/**
 * Runs the child turn of a call that a worker has let start, until the child turn has ended. Never throws: however the
 * child turn ends, there is a result. The spending of the child turn counts for this turn, too.
 */
export async function runChild(
  turn: Turn,
  state: CallState,
  ready: Extract<CallOutput, { child: unknown }>,
): Promise<ToolResult> {
  const { child: settings } = state.call.settings;
  const child = childOf(turn, state);
  const outputBytes = settings?.outputBytes ?? LIMITS.outputBytes;
  const end =
    settings === undefined
      ? { kind: 'failed' as const, message: 'its call names no agent' }
      : await endOf(turn, state, { child, settings, ready });
  if (end.kind === 'completed' && isTurnResult(end.result)) {
    turn.spending.spent = addSpent(turn.spending.spent, spentBy(end.result));
    act(turn, { type: 'heard', names: end.result.others ?? [] });
  }
  const of = { child, head: resultHead(state), facts: factsOf(state, Date.now()), outputBytes };
  return noted(state, childResult(end, of));
}

/** The spending of a child turn. A turn of older code reports only the tokens and steps that it counted. */
function spentBy({ spent, usage, steps }: { spent?: Spent; usage: object; steps: number }): Spent {
  return spent ?? { ...noSpending(), tokens: tokensOf(usage) ?? 0, steps };
}

interface ChildPlan {
  child: string;
  settings: NonNullable<CallSettings['child']>;
  ready: Extract<CallOutput, { child: unknown }>;
}

async function endOf(turn: Turn, state: CallState, plan: ChildPlan): Promise<ChildEnd> {
  try {
    if (plan.ready.child === 'there') return await waitFor(turn, state, plan.child);
    const handle = await startChildTurn({
      turn: plan.child,
      input: inputOf(turn, state, plan),
      taskQueue: plan.settings.taskQueue,
    });
    return { kind: 'completed', result: await handle.result() };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return lookAgain(turn, state, plan.child);
    return failedEnd(error);
  }
}

/** Waits for a child turn that another run of this turn started after the worker's check. */
async function lookAgain(turn: Turn, state: CallState, child: string): Promise<ChildEnd> {
  try {
    return await waitFor(turn, state, child);
  } catch (error) {
    return failedEnd(error);
  }
}

/** How a turn that was started as a child ended, by the error of the wait for it. */
export function failedEnd(error: unknown): Exclude<ChildEnd, { kind: 'completed' | 'foreign' }> {
  const isOwn = error instanceof ChildWorkflowFailure;
  const cause = isOwn ? error.cause : error;
  // A turn that failed because an activity of it was cancelled has failed.
  if (isOwn ? cause instanceof CancelledFailure : isCancellation(error)) return { kind: 'cancelled' };
  if (cause instanceof TerminatedFailure) return { kind: 'terminated' };
  if (cause instanceof TimeoutFailure) return { kind: 'timed_out' };
  return {
    kind: 'failed',
    message: cause instanceof ApplicationFailure ? cause.message : errorMessage(cause),
  };
}

function inputOf(turn: Turn, state: CallState, { settings, ready: { trace } }: ChildPlan): TurnInput {
  const { workflowId } = workflowInfo();
  const { task } = state.effective;
  const cap = turn.reserved.get(state.call.callId)?.given;
  const origin = originOfCall(turn, state);
  return {
    agent: settings.agent,
    prompt: typeof task === 'string' ? task : JSON.stringify(state.effective),
    lineage: [...turn.lineage, { turn: workflowId, callId: state.call.callId, agent: turn.agent }],
    origin: trace === undefined ? origin : { ...origin, trace },
    cap: cap === undefined || Object.keys(cap).length === 0 ? undefined : cap,
  };
}

/** Waits for a child turn that an earlier run of this turn has started. A cancelled turn cancels it. */
async function waitFor(turn: Turn, state: CallState, child: string): Promise<ChildEnd> {
  const { callId } = state.call;
  const input: ChildWaitInput = { child };
  const result = await scheduleActivity<RawValue>(
    ACTIVITIES.child,
    [input],
    {
      activityId: activityIds.child(callId),
      // The activity ends with the child turn, which may wait for a person for weeks. Heartbeats show whether its
      // worker lives.
      startToCloseTimeout: '365 days',
      heartbeatTimeout: TIMES.heartbeatTimeout,
      retry: OWN_RETRY,
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `${callId} waits for ${child}`,
    },
    rawResult,
  );
  return readChildEnd(decodedValueOf(result)) ?? { kind: 'completed', result: undefined };
}
