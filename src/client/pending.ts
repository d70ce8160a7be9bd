import { describeTurn } from '../history/read';
import { temporal } from '@temporalio/proto';
import { CountersignError } from '../contract/errors';
import { toIso } from '../history/decode/proto';
import { purposeOf } from '../history/fold/activities';
import { STATUS, grpcStatusOf, toCountersignError, turnNotFound, ask } from '../history/server-errors';
import type { ClientContext } from './context';

import { type LiveWorker, type PolledQueue, workersOf } from './pollers';
import type { FailingTask, Pending, PendingActivity } from './types';
import { decodeFailure, rootOf } from '../history/decode/failure';
import { Payloads } from '../history/decode/payloads';
import { is } from '../history/fold/guards';
import { heardIn } from '../history/fold/results';
import { NO_TOKEN } from '../history/read-run';
import { FAILURES, QUERIES, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { guard } from '../contract/schema/message';
import { list, object, oneOf, text } from '../contract/schema/shape';
import type { ChangedTool } from '../contract/worker-tools';
import { toolSetIn } from '../contract/worker-name';

type Description = NonNullable<Awaited<ReturnType<typeof describeTurn>>>;
type PendingInfo = temporal.api.workflow.v1.IPendingActivityInfo;

const { PendingActivityState } = temporal.api.enums.v1;

/** The activities of a turn that run right now, and the queues without a worker that something waits on. */
export async function pendingActivities(context: ClientContext, turn: string): Promise<Pending> {
  const description = await describeTurn(context, turn);
  if (description === undefined) throw turnNotFound(turn);
  const own = description.executionConfig?.taskQueue?.name ?? '';
  const owner = { type: 'workflow', namespace: context.namespace, workflowId: turn } as const;
  const payloads = new Payloads(context.client.options.loadedDataConverter, owner);
  const infos = description.pendingActivities ?? [];
  const activities = await Promise.all(infos.map((info) => toPending(info, own, payloads)));
  const failing = await failingTask(context, turn, description);
  const queues = await polledQueues(context, description, activities);
  return {
    failingTask: failing,
    activities: activities.map((activity) => ({ ...activity, ...lackedBy(activity, queues) })),
    idleQueues: [...new Set(queues.flatMap(({ name, workers }) => (workers.length === 0 ? [name] : [])))],
    lacks: activities.length === 0 ? await lackOf(context, description, payloads) : undefined,
  };
}

/** The agent of a turn that waits only for people, if no worker of its queue has that agent. */
async function lackOf(
  context: ClientContext,
  { workflowExecutionInfo: info, executionConfig }: Description,
  payloads: Payloads,
) {
  const agent = payloads.core(info?.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]);
  const name = executionConfig?.taskQueue?.name;
  if (info?.type?.name !== WORKFLOWS.turn || typeof agent !== 'string' || !name) return undefined;
  const workers = await liveWorkers(context, { name, half: 'activities' });
  // A worker says some seconds after its start what it has.
  const there = [...new Set(workers.flatMap(({ agents = [agent] }) => agents))];
  return there.length === 0 || there.includes(agent) ? undefined : { agent, there };
}

/** Whether the worker that took an activity last lacks its agent or tool, and all others of the queue have the same. */
function lackedBy(
  { waits, worker = '', taskQueue }: PendingActivity,
  queues: readonly WorkedQueue[],
): Pick<PendingActivity, 'waits'> {
  const { workers = [] } = queues.find(({ name, half }) => name === taskQueue && half === 'activities') ?? {};
  const isSame = ({ identity }: LiveWorker) => toolSetIn(identity) === toolSetIn(worker);
  return waits === 'other_worker' && workers.length > 0 && workers.every(isSame) ? { waits: 'nobody' } : {};
}

async function toPending(info: PendingInfo, turnQueue: string, payloads: Payloads): Promise<PendingActivity> {
  const name = info.activityType?.name ?? '';
  const beat = await payloads.first(info.heartbeatDetails);
  const purpose = purposeOf({ id: info.activityId ?? '', activityType: name });
  return {
    what: purpose?.what ?? 'call',
    name,
    state: stateOf(info),
    taskQueue: info.activityOptions?.taskQueue?.name || turnQueue,
    attempt: info.attempt ?? 1,
    maximumAttempts: info.maximumAttempts ?? 0,
    callId: purpose !== undefined && purpose.what !== 'think' ? purpose.callId : undefined,
    worker: info.lastWorkerIdentity || undefined,
    startedAt: toIso(info.lastStartedTime),
    lastHeartbeatAt: toIso(info.lastHeartbeatTime),
    nextAttemptAt: toIso(info.nextAttemptScheduleTime),
    lastFailure: info.lastFailure?.message || undefined,
    waits: stateOf(info) === 'scheduled' ? waitsOf(info) : undefined,
    ...heardIn(beat),
    text: is.beat(beat) ? beat.text : undefined,
    step: is.beat(beat) ? beat.step : undefined,
  };
}

function stateOf({ state, paused }: PendingInfo): PendingActivity['state'] {
  if (paused === true) return 'paused';
  if (state === PendingActivityState.PENDING_ACTIVITY_STATE_STARTED) return 'started';
  return state === PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
    ? 'cancel_requested'
    : 'scheduled';
}

function waitsOf({ lastFailure }: PendingInfo): PendingActivity['waits'] {
  const type = lastFailure?.applicationFailureInfo?.type;
  if (type === FAILURES.notHere) return 'other_worker';
  if (type === FAILURES.paused) return 'pause';
  return lastFailure ? 'retry' : 'worker';
}

interface WorkedQueue extends PolledQueue {
  workers: readonly LiveWorker[];
}

/** The queues that something waits on, with their workers. A turn that waits for a person needs no worker. */
async function polledQueues(
  context: ClientContext,
  { pendingWorkflowTask, executionConfig }: Description,
  activities: PendingActivity[],
): Promise<WorkedQueue[]> {
  const waiting = activities
    .filter((activity) => activity.state === 'scheduled')
    .map((activity) => activity.taskQueue);
  const asked = [...new Set(waiting)].map((name): PolledQueue => ({ name, half: 'activities' }));
  const own = executionConfig?.taskQueue?.name;
  if (pendingWorkflowTask && own) asked.push({ name: own, half: 'turns' });
  return Promise.all(asked.map(async (queue) => ({ ...queue, workers: await liveWorkers(context, queue) })));
}

/** The workers that poll a queue. */
export function liveWorkers(context: ClientContext, queue: PolledQueue): Promise<LiveWorker[]> {
  const { connection, namespace } = context;
  return ask(context, `asking who works on queue ${queue.name}`, () =>
    workersOf(connection, namespace, queue),
  );
}

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/**
 * The most events that are read to find the reason. Pages are small, because an event may have 2 MiB and a connection
 * takes 4 MiB.
 */
const PAGE = { size: 2, most: 20 } as const;
const MOST_CHARACTERS = 500;

/** Whether the workflow task of a turn is tried again, and why. */
async function failingTask(
  context: ClientContext,
  turn: string,
  { pendingWorkflowTask, workflowExecutionInfo }: Description,
): Promise<FailingTask | undefined> {
  const attempt = pendingWorkflowTask?.attempt ?? 1;
  if (attempt <= 1) return undefined;
  const runId = workflowExecutionInfo?.execution?.runId ?? '';
  const reason = await reasonOf(context, { workflowId: turn, runId });
  return { attempt, reason: reason && bounded(reason) };
}

/** Why the workflow task fails. The server records only the first failed attempt, and counts the others. */
async function reasonOf(context: ClientContext, execution: { workflowId: string; runId: string }) {
  try {
    const end = await lastEnd(context, execution);
    if (end?.workflowTaskTimedOutEventAttributes) return 'a worker took it and gave no answer in time';
    const failure = end?.workflowTaskFailedEventAttributes?.failure;
    return failure ? await failureText(context, failure) : undefined;
  } catch (error) {
    // The turn is still shown, with a note in place of the reason.
    if (error instanceof CountersignError) return `the reason cannot be read: ${error.message}`;
    throw error;
  }
}

/** The event that ended the last workflow task on record. */
async function lastEnd(
  context: ClientContext,
  execution: { workflowId: string; runId: string },
): Promise<HistoryEvent | undefined> {
  const { connection, namespace } = context;
  let nextPageToken = NO_TOKEN;
  for (let page = 0; page < PAGE.most; page += 1) {
    const request = { namespace, execution, maximumPageSize: PAGE.size, nextPageToken };
    const answer = await ask(context, `reading the end of turn ${execution.workflowId}`, () =>
      connection.workflowService.getWorkflowExecutionHistoryReverse(request),
    );
    const found = (answer.history?.events ?? []).find(isEnd);
    nextPageToken = answer.nextPageToken ?? NO_TOKEN;
    if (found !== undefined || nextPageToken.length === 0) return found;
  }
  return undefined;
}

function isEnd(event: HistoryEvent) {
  return Boolean(
    event.workflowTaskFailedEventAttributes ??
    event.workflowTaskTimedOutEventAttributes ??
    event.workflowTaskCompletedEventAttributes,
  );
}

/**
 * The text of a failure. It is decoded without an owner, because a worker encrypts the failure of a task before it
 * knows the workflow.
 *
 * @throws CountersignError `key_missing`.
 */
async function failureText({ client }: ClientContext, failure: temporal.api.failure.v1.IFailure) {
  const payloads = new Payloads(client.options.loadedDataConverter, undefined);
  if (failure.encodedAttributes) await payloads.own({ payloads: [failure.encodedAttributes] });
  const decoded = await decodeFailure(failure, payloads);
  return decoded.message || rootOf(decoded).message;
}

function bounded(reason: string) {
  const [first = ''] = reason.trim().split('\n');
  return first.length > MOST_CHARACTERS ? `${first.slice(0, MOST_CHARACTERS - 1)}…` : first;
}

/** The longest wait for an answer that only leads to a warning. A person waits for this answer. */
const ANSWER_MS = 2_000;

const areChanged = guard(list(object({ callId: text(), now: oneOf(['changed', 'gone']) })));

/** Asks the worker of a turn for the requests whose tool has changed. Undefined if no worker answers. */
export async function changedTools(
  context: ClientContext,
  turn: string,
): Promise<readonly ChangedTool[] | undefined> {
  const handle = context.client.workflow.getHandle(turn);
  try {
    const reply = await context.connection.withDeadline(Date.now() + ANSWER_MS, () =>
      handle.query<unknown>(QUERIES.tools),
    );
    return areChanged(reply) ? reply : undefined;
  } catch (error) {
    // There is no worker, the answer takes too long, or the workflow is not a turn.
    if (error instanceof Error && SILENT.includes(error.name)) return undefined;
    if (NO_ANSWER.includes(grpcStatusOf(error) ?? -1)) return undefined;
    throw toCountersignError(error, `asking for the tools of turn ${turn}`);
  }
}

const SILENT = ['QueryNotRegisteredError', 'QueryRejectedError'];
const NO_ANSWER: readonly number[] = [STATUS.cancelled, STATUS.deadlineExceeded, STATUS.failedPrecondition];
