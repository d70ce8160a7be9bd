import { temporal } from '@temporalio/proto';
import { addChat } from '../../../src/cli/commands/chat';
import { CountersignError } from '../../../src/contract/errors';
import { runCommand } from '../command';
import { agentPlugin } from '../../../src/contract/worker-name';

const { WorkerStatus } = temporal.api.enums.v1;

/** Talks with an agent of the queue `q`, whose worker has the agent `clerk`. The session is new. */
const talk = (agent: string, heartbeats: object[]) => {
  const workflowService = {
    describeTaskQueue: async () => ({ pollers: [] }),
    listWorkers: async () => ({ workersInfo: heartbeats }),
  };
  const history = async () => {
    throw new CountersignError('not_found', 'there is no session');
  };
  const answers = { client: { connection: { workflowService } }, session: () => ({ history }) };
  return runCommand(addChat, answers, 'chat', agent, '--queue', 'q');
};

const worker = {
  workerHeartbeat: {
    workerIdentity: 'w',
    taskQueue: 'q',
    heartbeatTime: { seconds: Math.floor(Date.now() / 1000), nanos: 0 },
    status: WorkerStatus.WORKER_STATUS_RUNNING,
    activityPollerInfo: { currentPollers: 1 },
    plugins: [agentPlugin('clerk')],
  },
};

it('starts no session with an agent that no worker has, and names the nearest one', async () => {
  await expect(talk('clrk', [worker])).rejects.toMatchObject({
    code: 'not_found',
    message: 'no worker with agent "clrk": those of the queue q have clerk; near it: clerk',
  });
});

it.each([
  ['a worker has it', 'clerk', [worker]],
  ['nobody says what it has', 'clrk', []],
])('goes on where %s', async (_, agent, heartbeats) => {
  // A new session is followed from its first message, and there is none.
  expect(await talk(agent, heartbeats)).toMatchObject({ code: 0 });
});
