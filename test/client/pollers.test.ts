import { temporal } from '@temporalio/proto';
import { workersOf } from '../../src/client/pollers';
import { grpcError } from '../history/fake-server';
import { agentPlugin } from '../../src/contract/worker-name';

const { WorkerStatus } = temporal.api.enums.v1;

const ago = (seconds: number) => ({ seconds: Math.floor(Date.now() / 1000) - seconds, nanos: 0 });

/** A heartbeat of a worker of the queue `q` that polls for turns and runs. */
const heartbeat = (workerIdentity: string, seconds: number, more: object = {}) => ({
  workerHeartbeat: {
    workerIdentity,
    taskQueue: 'q',
    heartbeatTime: ago(seconds),
    status: WorkerStatus.WORKER_STATUS_RUNNING,
    workflowPollerInfo: { currentPollers: 1 },
    plugins: [agentPlugin('clerk')],
    ...more,
  },
});
const poller = (identity: string, seconds: number) => ({ identity, lastAccessTime: ago(seconds) });
const ended = { status: WorkerStatus.WORKER_STATUS_SHUTTING_DOWN };

/** The workers of the queue `q`, where the server names these pollers and heartbeats, or refuses the latter. */
function workers(pollers: object[], heartbeats: object[] | Error) {
  const workflowService = {
    describeTaskQueue: async () => ({ pollers }),
    listWorkers: async () => {
      if (heartbeats instanceof Error) throw heartbeats;
      return { workersInfo: heartbeats };
    },
  };
  const server = { workflowService } as unknown as Parameters<typeof workersOf>[0];
  return workersOf(server, 'default', { name: 'q', half: 'turns' });
}

const clerk = { identity: 'w', agents: ['clerk'] };

test.each<[string, object[], object[], object[]]>([
  ['nobody', [], [], []],
  ['one with a heartbeat, with its agents', [], [heartbeat('w', 5)], [clerk]],
  ['one that polled lately', [poller('w', 60)], [], [{ identity: 'w' }]],
  ['one that is known by both once', [poller('w', 1)], [heartbeat('w', 5)], [clerk]],
  ['not one that polled long ago', [poller('w', 80)], [], []],
  ['not one whose heartbeat is old', [], [heartbeat('w', 40)], []],
  ['not one of another queue', [], [heartbeat('w', 5, { taskQueue: 'other' })], []],
  ['not one that polls for activities only', [], [heartbeat('w', 5, { workflowPollerInfo: {} })], []],
  ['not one that has reported its end', [poller('w', 9)], [heartbeat('w', 5, ended)], []],
  [
    'not one that polled once more as it ended',
    [{ identity: 'w', lastAccessTime: { ...ago(5), nanos: 9_000_000 } }],
    [heartbeat('w', 5, ended)],
    [],
  ],
  [
    'one that polled after the end of another',
    [poller('w', 2)],
    [heartbeat('w', 8, ended)],
    [{ identity: 'w' }],
  ],
  ['the running one of two of a name', [], [heartbeat('w', 1, ended), heartbeat('w', 9)], [clerk]],
])('counts %s', async (_, pollers, heartbeats, expected) => {
  expect(await workers(pollers, heartbeats)).toEqual(expected);
});

test.each([
  ['does not know the call', 12],
  ['permits it to others only', 7],
  ['is busy', 8],
])('pollers are enough where a server %s', async (_, status) => {
  expect(await workers([poller('w', 1)], grpcError(status))).toEqual([{ identity: 'w' }]);
});

test('another failure is passed on', async () => {
  const failure = grpcError(3);
  await expect(workers([], failure)).rejects.toBe(failure);
});
