import type { Pending, PendingActivity } from '../../client';
import { ACTIVITY_STATE_WORDS } from '../../contract/activity-state';
import { span } from '../../contract/times';
import { visible } from './visible';

/** What runs right now, one line each, and queues that nobody works on. */
export function pendingLines({ activities, idleQueues }: Pending, now: number): string[] {
  return [
    ...idleQueues.map(
      (queue) =>
        `no worker takes work from the queue ${visible(queue)}: start one with \`countersign worker\``,
    ),
    ...activities.map((activity) => activityLine(activity, now)),
  ];
}

function activityLine(activity: PendingActivity, now: number): string {
  const { callId, name, state, attempt, startedAt, nextAttemptAt, lastFailure, worker } = activity;
  const since = startedAt === undefined ? '' : ` for ${span(now - new Date(startedAt).getTime())}`;
  const retried = attempt > 1 ? `, attempt ${attempt}` : '';
  const next = nextAttemptAt === undefined || state === 'started' ? '' : `, next ${nextAttemptAt}`;
  const where = worker === undefined || state !== 'started' ? '' : ` on ${visible(worker)}`;
  const why = lastFailure === undefined ? '' : ` (last failure: ${visible(lastFailure)})`;
  const what = callId === undefined ? 'the model' : `${callId} ${visible(name)}`;
  return `${what} ${ACTIVITY_STATE_WORDS[state]}${since}${where}${retried}${next}${why}`;
}
