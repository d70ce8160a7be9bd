import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { CallOutput } from '../contract/call';
import type { ChildEnd, ChildWaitInput } from '../contract/turn';
import { errorMessage } from '../contract/errors';
import type { ToolFailure } from '../contract/result';
import { amountText } from '../contract/spending/budget';
import { unlessNotFound } from '../history/server-errors';
import type { SubAgent } from '../tools/types';
import { cachedOutput, type Execution, notRunResult } from './execute';
import { isResetRun, readResetHistory } from './reset-history';
import { traceHere } from './spans';

/**
 * Checks whether the child turn of a call may start, right before it starts. Nothing starts here: a command of the
 * workflow starts the child turn, so history always shows whether it started. If an earlier run of the turn has
 * started it, the call gets that child turn.
 */
export async function lookForChild(execution: Execution, child: SubAgent): Promise<CallOutput> {
  const failure = whyNot(execution, child);
  const asked = execution.input.child;
  if (failure !== undefined || asked === undefined)
    return cachedOutput(execution.deps, notRunResult(execution, failure ?? NO_TURN));
  if ((await describe(asked.turn)) !== undefined) return { child: 'there' };
  if (isResetRun(execution.input) && (await mayHaveStarted(asked.turn)))
    return cachedOutput(execution.deps, notRunResult(execution, GONE));
  return { child: 'absent', trace: traceHere(execution.deps, execution.input.origin) };
}

/** Whether a run before a reset may have asked for the child turn. A run whose history is deleted may have. */
async function mayHaveStarted(child: string) {
  const { bases, isCut } = await readResetHistory();
  const isIt = (event: (typeof bases)[number][number]) =>
    event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId === child;
  return isCut || bases.some((events) => events.some(isIt));
}

const GONE: ToolFailure = {
  code: 'in_doubt',
  message:
    'The sub-agent may have worked on this before the turn was reset, and the record of it is gone. It was not started again.',
};

const NO_TURN: ToolFailure = {
  code: 'refused',
  message: 'The turn that calls does not say which child turn it wants. Nothing ran.',
};

function whyNot({ input, tool }: Execution, { depth, most, agent }: SubAgent): ToolFailure | undefined {
  const { child } = input;
  if (child === undefined) return undefined;
  if (child.depth >= depth)
    return refused(
      `${tool.name} lets ${depth} child turns be below one another, and ${agent} would be one more`,
    );
  if (child.started >= most) return refused(`this turn has started ${most} child turns, which is its limit`);
  if (child.none === undefined) return undefined;
  return refused(`this turn has ${amountText(child.none, 0)} left, so a child turn could not begin`);
}

function refused(why: string): ToolFailure {
  return { code: 'refused', message: `Not started: ${why}. Nothing ran.` };
}

function describe(workflowId: string): Promise<WorkflowExecutionDescription | undefined> {
  return unlessNotFound(Context.current().client.workflow.getHandle(workflowId).describe());
}

/** The time between two heartbeats, in milliseconds: well within the heartbeat timeout. */
const BEAT_MS = 3_000;

/**
 * Waits until a child turn that an earlier run started has ended. When cancelled, it cancels the child turn and still
 * waits.
 */
export async function waitForChild({ child }: ChildWaitInput): Promise<ChildEnd> {
  const context = Context.current();
  const found = await describe(child);
  const isOurs = found?.parentExecution?.workflowId === context.info.workflowExecution?.workflowId;
  if (found === undefined || !isOurs)
    return {
      kind: 'foreign',
      message: `${child} is not a child turn of this turn, so its answer does not count.`,
    };
  const handle = context.client.workflow.getHandle(child);
  const over = new AbortController();
  const beating = beat(over.signal);
  const onCancel = (): void => void handle.cancel().catch(() => undefined);
  context.cancellationSignal.addEventListener('abort', onCancel, { once: true });
  if (context.cancellationSignal.aborted) onCancel();
  try {
    return { kind: 'completed', result: await handle.result() };
  } catch (error) {
    const end = endOf(error);
    if (end === undefined) throw error;
    return end;
  } finally {
    over.abort();
    context.cancellationSignal.removeEventListener('abort', onCancel);
    await beating;
  }
}

async function beat(over: AbortSignal) {
  while (!over.aborted) {
    Context.current().heartbeat();
    await sleep(BEAT_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

/** How the child turn ended. Undefined if that is not known. The next attempt then waits again. */
function endOf(error: unknown): ChildEnd | undefined {
  if (!(error instanceof WorkflowFailedError)) return undefined;
  const { cause } = error;
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  if (cause instanceof TimeoutFailure) return { kind: 'timed_out' };
  if (cause instanceof TerminatedFailure) return { kind: 'terminated' };
  return { kind: 'failed', message: errorMessage(cause) };
}
