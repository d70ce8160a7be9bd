import { Context } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import type { CallInput } from '../contract/call';
import type { ActivityDeps } from './deps';
import type { HistoryEvent } from '../history/decode/decode';
import {
  isAllowedHere,
  givenBackBy,
  isInherited,
  isScheduleOf,
  ownEvents,
  placeHere,
  readResetHistory,
  wasScheduledBefore,
} from './reset-history';
import { DECIDED_BEFORE } from '../contract/call-texts';
import { errorMessage } from '../contract/errors';
import { optionalTsToMs } from '@temporalio/common';
import { unstarted } from '../contract/lost-activity';
import { isTransient, retry } from '../history/server-errors';

/** How long a busy server is asked again. What it does not say in this time makes a person look. */
const READ_MS = 60_000;

/**
 * Looks for proof that an unsafe call was started before, in everything that outlives a worker: the number of the
 * attempt, heartbeat details, the time of scheduling, and the description of the pending activity (which shows an
 * operator's activity reset). In a run that a reset made, it also reads the history of this run and of the runs before
 * the reset. A history that cannot be read counts as a start. The call then stops, and a person is asked.
 *
 * @returns Why the call may have been started, or undefined if nothing shows that.
 */
export async function earlierStart(
  deps: Pick<ActivityDeps, 'giveBacks'>,
  input: CallInput,
): Promise<string | undefined> {
  const { info } = Context.current();
  if (info.attempt > 1) return `this is attempt ${info.attempt}; an earlier one was started`;
  if (info.heartbeatDetails !== undefined) return 'an earlier attempt had begun to beat';
  // An operator who resets a call that waits for its next attempt erases every other trace of the earlier attempt.
  if (info.currentAttemptScheduledTimestampMs > info.scheduledTimestampMs)
    return 'it was scheduled a second time';
  try {
    return await retry({ passes: isTransient, forMs: READ_MS }, async () => {
      const described = await describedStart();
      if (described !== undefined) return described;
      const round = input.round === undefined ? undefined : await startInThisRun(deps, input);
      return round ?? (await startInOtherRun(input));
    });
  } catch (error) {
    return unreadStart(error);
  }
}

/** What stops a call that may have been started before by the same signatures. Undefined: they did not start it. */
export async function spentBefore(
  worker: Pick<ActivityDeps, 'giveBacks'>,
  input: CallInput,
): Promise<{ inDoubt: { message: string } } | { lack: string } | undefined> {
  try {
    const message = await startInThisRun(worker, input);
    return message === undefined ? undefined : { inDoubt: { message } };
  } catch (error) {
    return { lack: unreadStart(error) };
  }
}

/** Why a call does not start if the proof of an earlier start cannot be read. */
function unreadStart(error: unknown) {
  return `whether it was started before could not be read: ${errorMessage(error)}`;
}

/**
 * Reads what the server knows about the activity. After an operator's reset, attempts are counted from 1 again, but the
 * server still knows the earlier attempts.
 */
async function describedStart(): Promise<string | undefined> {
  const pending = await pendingAttempt();
  if (pending === undefined) return 'the server no longer knows this attempt';
  const before =
    pending.lastAttemptCompleteTime ?? pending.lastFailure ?? pending.heartbeatDetails?.payloads?.[0];
  return before ? 'an earlier attempt was started; an operator reset it' : undefined;
}

/** In a run that a reset made, another run may have started a call that the reset kept. */
async function startInOtherRun(input: CallInput) {
  if (!isInherited(input)) return undefined;
  const history = await readResetHistory();
  if (await wasScheduledBefore(history, input))
    return 'it was scheduled in the run that this one was reset from';
  if (!(await isAllowedHere(history, input)))
    return `${input.decision === undefined ? 'asked for before the turn was reset' : DECIDED_BEFORE}; another run may have started it`;
  // A later generation needs no check, because a person who says "run it again" knows of the doubt.
  if (history.isCut && input.generation === 0)
    return 'the server has deleted the run that this one was reset from';
  return undefined;
}

/**
 * Why the call may have been started before in this run. It has not been started if each earlier round was given back by
 * its worker, or was never taken. Somebody else can claim the name of a worker. So where this installation has keys, the
 * worker also has to prove that it has them.
 *
 * @throws If a history cannot be read.
 */
export async function startInThisRun(
  { giveBacks }: Pick<ActivityDeps, 'giveBacks'>,
  input: Pick<CallInput, 'callKey' | 'generation'>,
): Promise<string | undefined> {
  const own = await ownEvents();
  const { activityId } = Context.current().info;
  const mine = own.findLast(({ activityTaskScheduledEventAttributes: of }) => of?.activityId === activityId);
  const takers = new Map<string, string | null | undefined>();
  const rounds = new Map<string, HistoryEvent>();
  for (const event of own) {
    if (event !== mine && (await isScheduleOf(event, input))) rounds.set(String(event.eventId), event);
    const started = event.activityTaskStartedEventAttributes;
    if (started) takers.set(String(started.scheduledEventId), started.identity);
    const completed = event.activityTaskCompletedEventAttributes;
    const of = String(
      completed?.scheduledEventId ?? event.activityTaskTimedOutEventAttributes?.scheduledEventId,
    );
    const round = rounds.get(of);
    if (round === undefined) continue;
    const isTakers = completed !== undefined && completed !== null && takers.get(of) === completed.identity;
    const given = isTakers ? await givenBackBy(event) : undefined;
    const isProven =
      given !== undefined &&
      (await giveBacks?.isOurs(given.proof, {
        ...placeHere(),
        activityId: round.activityTaskScheduledEventAttributes?.activityId ?? '',
        scheduledMs: msOf(round.eventTime),
      })) !== false;
    if (isProven || (!completed && isUnstarted(round, event))) rounds.delete(of);
  }
  return rounds.size === 0 ? undefined : 'it was scheduled before, and nothing proves that it did not start';
}

const SCHEDULE_TO_START = temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START;

/**
 * Whether the activity never started. Uses the exact times of the server, because the workflow only knows when it heard
 * of them.
 */
function isUnstarted(scheduled: HistoryEvent, ended: HistoryEvent) {
  const { timeoutFailureInfo: info } = ended.activityTaskTimedOutEventAttributes?.failure ?? {};
  const { retryPolicy, ...of } = scheduled.activityTaskScheduledEventAttributes ?? {};
  const activity = {
    cancelled: false,
    untaken: false,
    message: '',
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

function msOf(time: Parameters<typeof optionalTsToMs>[0]) {
  return optionalTsToMs(time) ?? 0;
}

/**
 * The server's record of the current attempt. Undefined if the server no longer waits for the attempt, because it
 * timed out or its run is over. A closed run keeps the list of its pending activities.
 *
 * @throws If the server cannot be asked.
 */
export async function pendingAttempt(): Promise<temporal.api.workflow.v1.IPendingActivityInfo | undefined> {
  const { info, client } = Context.current();
  const { workflowExecutionInfo, pendingActivities } = await client.workflowService.describeWorkflowExecution(
    {
      namespace: info.namespace,
      execution: info.workflowExecution ?? null,
    },
  );
  if (workflowExecutionInfo?.status !== RUNNING) return undefined;
  return pendingActivities?.find(
    ({ activityId, attempt }) => activityId === info.activityId && attempt === info.attempt,
  );
}

const RUNNING = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
