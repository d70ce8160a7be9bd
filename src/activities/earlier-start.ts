import { Context } from '@temporalio/activity';
import type { CallInput } from '../contract/call';
import { pendingAttempt } from './pending-attempt';
import { wasScheduledBefore } from './reset-history';

/**
 * Looks for proof that an unsafe call was started before, in everything that outlives a worker: the attempt's number,
 * heartbeat details, when it was scheduled, the pending activity's description (an operator's activity reset) and the
 * histories of the runs this one was reset from. What cannot be read counts as a start: we stop and ask.
 *
 * @returns why it may have been started, or undefined where nothing says so.
 */
export async function earlierStart(input: CallInput): Promise<string | undefined> {
  const { info } = Context.current();
  if (info.attempt > 1) return `this is attempt ${info.attempt}; an earlier one was started`;
  if (info.heartbeatDetails !== undefined) return 'an earlier attempt had begun to beat';
  // An operator's reset of a call that waits for its next attempt erases all else that tells of the earlier one.
  if (info.currentAttemptScheduledTimestampMs > info.scheduledTimestampMs)
    return 'it was scheduled a second time';
  try {
    return (await describedStart()) ?? (await startInBaseRun(input));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `whether it was started before could not be read: ${why}`;
  }
}

/** An operator's reset starts the count of attempts anew, but the server remembers that there were some. */
async function describedStart(): Promise<string | undefined> {
  const pending = await pendingAttempt();
  if (pending === undefined) return 'the server no longer knows this attempt';
  const before =
    pending.lastAttemptCompleteTime ?? pending.lastFailure ?? pending.heartbeatDetails?.payloads?.[0];
  return before ? 'an earlier attempt was started; an operator reset it' : undefined;
}

async function startInBaseRun(input: CallInput): Promise<string | undefined> {
  const { info } = Context.current();
  if (info.workflowExecution?.runId === input.originalRunId) return undefined;
  const scheduled = await wasScheduledBefore(input);
  return scheduled ? 'it was scheduled in the run that this one was reset from' : undefined;
}
