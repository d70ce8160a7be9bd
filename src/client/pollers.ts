import { temporal } from '@temporalio/proto';
import type { ConnectionLike } from '@temporalio/client';
import { STATUS, grpcStatusOf } from '../history/server-errors';
import { toIso } from '../history/decode/proto';
import { agentsAmong, approversAmong } from '../contract/worker-name';

const { TaskQueueType, WorkerStatus } = temporal.api.enums.v1;

/** The name of a queue, and which of its two halves is meant: the half for turns or the half for activities. */
export interface PolledQueue {
  name: string;
  half: 'turns' | 'activities';
}

/**
 * The longest time since the last poll of a live worker. One poll takes less time than this. The server remembers
 * pollers for minutes.
 */
const RECENT_MS = 70_000;

/** The longest time since the last heartbeat of a live worker. Our workers send one every 10 s. */
const HEARTBEAT_MS = 30_000;

/** A worker that polls a queue. */
export interface LiveWorker {
  identity: string;
  /**
   * Absent until the worker's first heartbeat, some seconds after its start, and if the server has no list of
   * workers.
   */
  agents?: readonly string[];
  /** The approvers file with which it started, by its short digest. Absent: it has none, or `agents` is absent. */
  approvers?: string;
}

type Server = Pick<ConnectionLike, 'workflowService'>;

/** The approvers files with which workers started, by their short digests. `none`: such a worker has no file. */
export function approversOf(workers: readonly LiveWorker[]): string[] {
  const known = workers.filter(({ agents }) => agents !== undefined);
  return [...new Set(known.map(({ approvers = 'none' }) => approvers))];
}

/**
 * The workers that poll a queue, except workers that shut down. A killed worker counts for another minute. The server
 * names the pollers of only one partition of a queue. The pollers of the other partitions are known by their
 * heartbeats.
 */
export async function workersOf(
  server: Server,
  namespace: string,
  queue: PolledQueue,
): Promise<LiveWorker[]> {
  const [polled, heartbeats] = await Promise.all([
    polledAt(server, namespace, queue),
    heartbeatsOf(server, namespace, queue),
  ]);
  const live = new Map<string, LiveWorker>();
  for (const [identity, { at: _, leftAt, ...has }] of heartbeats)
    if (leftAt === undefined) live.set(identity, { identity, ...has });
  for (const [identity, at] of polled)
    if (!live.has(identity) && !hasLeft(heartbeats.get(identity), at)) live.set(identity, { identity });
  return [...live.values()];
}

/**
 * The time for which a worker that shuts down may poll after its last heartbeat. Another worker with its name may
 * follow soon.
 */
const LAST_POLLS_MS = 100;

/** Whether a worker had reported that it ends, at or shortly before the time of its poll. */
function hasLeft(last: LastHeartbeat | undefined, pollAt: string) {
  return last?.leftAt !== undefined && Date.parse(pollAt) < Date.parse(last.leftAt) + LAST_POLLS_MS;
}

/** The workers that have polled a queue lately, each with the time. */
async function polledAt({ workflowService }: Server, namespace: string, { name, half }: PolledQueue) {
  const taskQueueType =
    half === 'turns' ? TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW : TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY;
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType,
  });
  const since = new Date(Date.now() - RECENT_MS).toISOString();
  const polled = new Map<string, string>();
  for (const { identity, lastAccessTime } of pollers ?? []) {
    const at = toIso(lastAccessTime) ?? '';
    if (at > since) polled.set(identity ?? '?', at);
  }
  return polled;
}

/**
 * Errors after which recent pollers have to be enough: older servers do not know the call, or a key does not permit it.
 */
const NO_HEARTBEATS: readonly (number | undefined)[] = [
  ...[STATUS.unimplemented, STATUS.permissionDenied],
  // The server is busy.
  ...[STATUS.deadlineExceeded, STATUS.resourceExhausted],
];

/** The last heartbeat of a worker. */
interface LastHeartbeat {
  at: string;
  /** The time at which the worker reported that it ends. */
  leftAt?: string;
  agents: readonly string[];
  approvers?: string;
}

/** The last heartbeat of each worker of a queue. Empty if the server has no such list, or refuses it. */
async function heartbeatsOf({ workflowService }: Server, namespace: string, queue: PolledQueue) {
  const heartbeats = new Map<string, LastHeartbeat>();
  try {
    const { workersInfo } = await workflowService.listWorkers({ namespace, pageSize: 1000 });
    for (const { workerHeartbeat: heartbeat } of workersInfo ?? []) {
      if (!heartbeat || heartbeat.taskQueue !== queue.name) continue;
      const one = heartbeatOf(heartbeat, queue);
      const identity = heartbeat.workerIdentity ?? '';
      const known = heartbeats.get(identity);
      // A process may have several workers, and a later process may have the same name. A running worker takes
      // precedence.
      if (one !== undefined && (known === undefined || isLater(one, known))) heartbeats.set(identity, one);
    }
  } catch (error) {
    if (!NO_HEARTBEATS.includes(grpcStatusOf(error))) throw error;
  }
  return heartbeats;
}

function isLater(one: LastHeartbeat, other: LastHeartbeat) {
  const goesOn = one.leftAt === undefined;
  return goesOn === (other.leftAt === undefined) ? one.at > other.at : goesOn;
}

/**
 * The last heartbeat of a worker. Undefined if the worker polls only the other half, or if its heartbeat is too
 * old.
 */
function heartbeatOf(
  heartbeat: temporal.api.worker.v1.IWorkerHeartbeat,
  { half }: PolledQueue,
): LastHeartbeat | undefined {
  const at = toIso(heartbeat.heartbeatTime) ?? '';
  const plugins = (heartbeat.plugins ?? []).map(({ name }) => name ?? '');
  const has = { agents: agentsAmong(plugins), approvers: approversAmong(plugins) };
  if (heartbeat.status !== WorkerStatus.WORKER_STATUS_RUNNING) return { at, leftAt: at, ...has };
  const { currentPollers } =
    (half === 'turns' ? heartbeat.workflowPollerInfo : heartbeat.activityPollerInfo) ?? {};
  const since = new Date(Date.now() - HEARTBEAT_MS).toISOString();
  return at > since && (currentPollers ?? 0) > 0 ? { at, ...has } : undefined;
}
