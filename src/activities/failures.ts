import { ApplicationFailure, Context } from '@temporalio/activity';
import { optionalTsToMs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import type { Roster } from '../contract/authority/roster';
import type { ToolResult } from '../contract/result';
import { FAILURES } from '../contract/names';
import { ModelError } from '../models/model';
import { errorMessage } from '../contract/errors';
import { defined } from '../contract/defined';
import type { CallInput, NotHere } from '../contract/call';
import { unstarted } from '../contract/call-messages';
import { TIMES } from '../contract/limits';
import type { ActivityDeps } from './deps';
import { ownEvents } from './reset-history';

/**
 * The failure for an error of a model. An error that is not a ModelError counts as retryable. `waitMs` is the wait
 * until the next attempt, in place of the wait by the activity's retry policy. `last` says why no model is asked any
 * more.
 */
export function modelFailure(
  error: unknown,
  { waitMs, last }: { waitMs?: number; last?: string } = {},
): ApplicationFailure {
  const words = errorMessage(error);
  const isModels = error instanceof ModelError;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  return ApplicationFailure.create({
    type: `${FAILURES.model}.${isModels ? error.kind : 'unknown'}`,
    message: last === undefined ? words : `${words} (${last})`,
    nonRetryable: last !== undefined || (isModels && !error.options.retryable),
    ...defined({ cause, nextRetryDelay: waitMs }),
  });
}

/** The failure where the worker lacks something. Asking again on the same worker would not help. */
export function setupFailure(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, `${FAILURES.model}.setup`);
}

/**
 * The failure of a call that may run again. It keeps the result so far and the roster, which are needed once all
 * attempts are used up.
 */
export function retryFailure(result: ToolResult, roster?: Roster): ApplicationFailure {
  const message = result.error?.message ?? 'the call may run again';
  return ApplicationFailure.create({
    type: FAILURES.retry,
    message,
    details: roster === undefined ? [result] : [result, roster],
  });
}

/** The agent and the tool that a worker must have for a task. */
interface Needed {
  agent: string;
  /** Absent: the agent itself is enough. */
  tool?: string;
}

/** The agent or tool that this worker lacks for a task, in words. Undefined where it has both. */
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
  return { notHere: lack, ...defined({ secret }) };
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
    return setupFailure(`${lack}; nobody came for ${Math.round(agentWaitMs / 1000)} s`);
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

/**
 * Why a call may have been started in an earlier round of this run. Undefined where there was no earlier round, or the
 * call was started in none. Where a worker gave the call back, its completion counts only if it comes from the worker
 * that had taken the call. Where the worker that held its state did not take the call, history has to prove that.
 */
export async function startInEarlierRound({ round }: Pick<CallInput, 'round'>): Promise<string | undefined> {
  if (round === undefined) return undefined;
  const { info } = Context.current();
  const events = await ownEvents();
  const takers = new Map<string, string | null | undefined>();
  const rounds = new Map<string, HistoryEvent>();
  for (const event of events) {
    if (event.activityTaskScheduledEventAttributes?.activityId === info.activityId)
      rounds.set(String(event.eventId), event);
    const started = event.activityTaskStartedEventAttributes;
    if (started) takers.set(String(started.scheduledEventId), started.identity);
    const completed = event.activityTaskCompletedEventAttributes;
    const scheduled = String(completed?.scheduledEventId);
    if (completed && rounds.has(scheduled) && takers.get(scheduled) !== completed.identity)
      return 'somebody else than its worker said that it had not started';
    const late = rounds.get(String(event.activityTaskTimedOutEventAttributes?.scheduledEventId));
    if (late !== undefined && !isUnstarted(late, event))
      return 'the worker that held its state may have started it';
  }
  return undefined;
}

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const SCHEDULE_TO_START = temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;

/**
 * Whether the activity never started. Uses the exact times of the server, because the workflow only knows when it heard
 * of them.
 */
export function isUnstarted(scheduled: HistoryEvent, ended: HistoryEvent): boolean {
  const { timeoutFailureInfo: info } = ended.activityTaskTimedOutEventAttributes?.failure ?? {};
  const { retryPolicy, ...of } = scheduled.activityTaskScheduledEventAttributes ?? {};
  const activity = {
    ...{ cancelled: false, untaken: false, message: '' },
    timeout: info?.timeoutType === SCHEDULE_TO_START ? 'SCHEDULE_TO_START' : undefined,
    beaten: (info?.lastHeartbeatDetails?.payloads ?? []).length > 0,
  };
  const times = {
    openMs: msOf(ended.eventTime) - msOf(scheduled.eventTime),
    heartbeatMs: msOf(of.heartbeatTimeout),
    startWithinMs: msOf(of.scheduleToStartTimeout),
    maximumAttempts: retryPolicy?.maximumAttempts ?? 0,
  };
  return unstarted(activity, times) !== undefined;
}

function msOf(time: Parameters<typeof optionalTsToMs>[0]): number {
  return optionalTsToMs(time) ?? 0;
}
