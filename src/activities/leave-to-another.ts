import { ApplicationFailure, Context } from '@temporalio/activity';
import { FAILURES } from '../contract/names';
import type { CallInput, NotHere } from '../contract/call';
import { MAY_HAVE_RUN } from '../contract/call-texts';
import type { ToolResult } from '../contract/result';
import type { Roster } from '../contract/roster';
import { TIMES } from '../contract/limits';
import { nearHint } from '../tools/tool-names';
import type { ActivityDeps } from './deps';
import { isLaterAttempt, notRunResult } from './execute';

/** The agent and the tool that a worker must have for a task. */
interface Needed {
  agent: string;
  /** Absent: the agent itself is enough. */
  tool?: string;
}

/** The agent or tool that this worker lacks for a task, in words. Undefined if the worker has both. */
export function lackOf({ agents }: Pick<ActivityDeps, 'agents'>, needed: Needed): string | undefined {
  const agent = agents.get(needed.agent);
  const names = [...agents.keys()].join(', ');
  if (agent === undefined)
    return `no worker with agent "${needed.agent}" here: the one that took this has ${names}${nearHint(needed.agent, agents.keys())}`;
  if (needed.tool === undefined || agent.registry.get(needed.tool) !== undefined) return undefined;
  return `no worker with the tool ${needed.tool} of agent "${needed.agent}" here: the one that took this lacks it`;
}

/** The output of a call that this worker did not start. */
export function notHere({ secret }: Pick<CallInput, 'secret'>, lack: string): NotHere {
  return { notHere: lack, secret };
}

/**
 * The wait before the first retry, in milliseconds. It is short, because with two workers the right worker gets the
 * task after a few tries.
 */
const SOON_MS = 250;

/**
 * The failure that leaves a task to another worker. The task is tried again soon and then every 5 s, on any worker of
 * the task queue, until `agentWait` has passed since it was first scheduled. After that it fails for good.
 */
export function leaveToAnother(
  { agentWaitMs }: Pick<ActivityDeps, 'agentWaitMs'>,
  lack: string,
): ApplicationFailure {
  const isOver = waitedMs() >= agentWaitMs;
  const failure = ApplicationFailure.create({
    type: isOver ? `${FAILURES.model}.setup` : FAILURES.notHere,
    message: isOver ? `${lack}; nobody came for ${Math.round(agentWaitMs / 1000)} s` : lack,
    nonRetryable: isOver,
    nextRetryDelay: Math.min(TIMES.agentRetry, SOON_MS * 2 ** (Context.current().info.attempt - 1)),
  });
  // Logs show the stack, and this is not a mistake of the code.
  return Object.assign(failure, { stack: '' });
}

/** The time since the task was first scheduled, over all its attempts. */
export function waitedMs(): number {
  return Date.now() - Context.current().info.scheduledTimestampMs;
}

/**
 * Gives a call that did not start back to the turn, which reports that nothing ran if no worker takes it. A call that
 * an earlier attempt may have run is left to another worker instead, for as many attempts as it has.
 */
export function handBack(input: CallInput, lack: string): NotHere {
  if (input.effect === 'pure' || !isLaterAttempt()) return notHere(input, lack);
  const message = `This attempt could not start: ${lack}. ${MAY_HAVE_RUN}`;
  throw retryFailure(notRunResult({ tool: undefined, input }, { code: 'transport', message }));
}

/**
 * The failure of a call that may run again. The failure keeps the result so far and the roster, which are needed once
 * all attempts are used up.
 */
export function retryFailure(result: ToolResult, roster?: Roster): ApplicationFailure {
  const message = result.error?.message ?? 'the call may run again';
  return ApplicationFailure.create({
    type: FAILURES.retry,
    message,
    details: roster === undefined ? [result] : [result, roster],
  });
}
