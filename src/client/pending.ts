import { temporal } from '@temporalio/proto';
import { defined } from '../history/defined';
import { toIso } from '../history/decode/time';
import { purposeOf } from '../history/fold/activities';
import { turnNotFound } from '../history/server-errors';
import { ask, type Desk } from './desk';
import { describeTurn } from './find-turn';
import type { Pending, PendingActivity } from './types';

type Description = NonNullable<Awaited<ReturnType<typeof describeTurn>>>;
type PendingInfo = temporal.api.workflow.v1.IPendingActivityInfo;

const { PendingActivityState, TaskQueueType } = temporal.api.enums.v1;

/** What of a turn runs right now, and the queues where nobody can take what waits. */
export async function pendingActivities(desk: Desk, turn: string): Promise<Pending> {
  const description = await describeTurn(desk, turn);
  if (description === undefined) throw turnNotFound(turn);
  const own = description.executionConfig?.taskQueue?.name ?? '';
  const activities = (description.pendingActivities ?? []).map((info) => toPending(info, own));
  return { activities, idleQueues: await idleQueues(desk, description, activities) };
}

function toPending(info: PendingInfo, turnQueue: string): PendingActivity {
  const name = info.activityType?.name ?? '';
  const purpose = purposeOf({ id: info.activityId ?? '', activityType: name });
  return {
    what: purpose?.what ?? 'call',
    name,
    state: stateOf(info),
    taskQueue: info.activityOptions?.taskQueue?.name || turnQueue,
    attempt: info.attempt ?? 1,
    maximumAttempts: info.maximumAttempts ?? 0,
    ...defined({
      callId: purpose !== undefined && purpose.what !== 'think' ? purpose.callId : undefined,
      worker: info.lastWorkerIdentity || undefined,
      startedAt: toIso(info.lastStartedTime),
      lastHeartbeatAt: toIso(info.lastHeartbeatTime),
      nextAttemptAt: toIso(info.nextAttemptScheduleTime),
      lastFailure: info.lastFailure?.message || undefined,
    }),
  };
}

function stateOf({ state, paused }: PendingInfo): PendingActivity['state'] {
  if (paused === true) return 'paused';
  if (state === PendingActivityState.PENDING_ACTIVITY_STATE_STARTED) return 'started';
  return state === PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
    ? 'cancel_requested'
    : 'scheduled';
}

/** Only queues that something waits on are asked about: a turn that waits for a person needs no worker. */
async function idleQueues(
  desk: Desk,
  { pendingWorkflowTask, executionConfig }: Description,
  activities: PendingActivity[],
): Promise<string[]> {
  const waiting = activities
    .filter((activity) => activity.state === 'scheduled')
    .map((activity) => activity.taskQueue);
  const asked = [...new Set(waiting)].map((name) => ({ name, type: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY }));
  const own = executionConfig?.taskQueue?.name;
  if (pendingWorkflowTask && own) asked.push({ name: own, type: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW });
  const idle = await Promise.all(
    asked.map(async (queue) => ((await hasPoller(desk, queue)) ? [] : [queue.name])),
  );
  return [...new Set(idle.flat())];
}

/** The server knows who polled in the last minutes; one that polls right now is recent. */
const RECENT_MS = 70_000;

async function hasPoller(
  desk: Desk,
  queue: { name: string; type: temporal.api.enums.v1.TaskQueueType },
): Promise<boolean> {
  const { connection, namespace } = desk;
  const request = { namespace, taskQueue: { name: queue.name }, taskQueueType: queue.type };
  const { pollers } = await ask(desk, `asking who works on queue ${queue.name}`, () =>
    connection.workflowService.describeTaskQueue(request),
  );
  const since = new Date(Date.now() - RECENT_MS).toISOString();
  return (pollers ?? []).some((poller) => (toIso(poller.lastAccessTime) ?? '') > since);
}
