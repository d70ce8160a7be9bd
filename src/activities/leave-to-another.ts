import { ApplicationFailure, Context } from '@temporalio/activity';
import { FAILURES } from '../contract/names';
import type { CallInput, NotHere } from '../contract/call';
import { TIMES } from '../contract/limits';
import type { ActivityDeps } from './deps';

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
    return `no worker with agent "${needed.agent}" here: the one that took this has ${names}`;
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
  if (waitedMs() >= agentWaitMs)
    return ApplicationFailure.nonRetryable(
      `${lack}; nobody came for ${Math.round(agentWaitMs / 1000)} s`,
      `${FAILURES.model}.setup`,
    );
  return ApplicationFailure.create({
    type: FAILURES.notHere,
    message: lack,
    nextRetryDelay: Math.min(TIMES.agentRetry, SOON_MS * 2 ** (Context.current().info.attempt - 1)),
  });
}

/** The time since the task was first scheduled, over all its attempts. */
export function waitedMs(): number {
  return Date.now() - Context.current().info.scheduledTimestampMs;
}
