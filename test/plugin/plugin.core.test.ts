import { randomUUID } from 'node:crypto';
import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../src/client';
import { CountersignPlugin } from '../../src/plugin';
import { testAddress, testConnection } from '../support/server';
import { until } from '../support/until';
import { WITHOUT_THREADS } from '../support/worker-here';

const paid: { order: string; cents: number }[] = [];
const paidFor = (order: string) => paid.filter((one) => one.order === order);
const activities = {
  refund: async (what: { order: string; cents: number }): Promise<string> => {
    paid.push(what);
    return `paid ${what.cents}`;
  },
  note: async (text: string): Promise<string> => text,
};

const parameters = z.object({ order: z.string(), cents: z.int().max(10_000) });
const plugin = new CountersignPlugin({ gate: { refund: { parameters } } });
const workflowsPath = require.resolve('../fixtures/plugin-workflows.ts');
const taskQueue = `plugin-${randomUUID()}`;
let native: NativeConnection;
let connection: Connection;
let client: Client;
let countersign: Countersign;
let worker: Worker;
let bundle: { code: string };
let ran: Promise<void>;

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  const address = testAddress();
  bundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger: new DefaultLogger('ERROR') });
  native = await NativeConnection.connect({ address });
  connection = await testConnection(address);
  client = new Client({ connection });
  countersign = await connect({ client });
  const own = { taskQueue, workflowBundle: bundle, activities, plugins: [plugin] };
  worker = await Worker.create({ connection: native, ...own, ...WITHOUT_THREADS, maxCachedWorkflows: 0 });
  ran = worker.run();
});

afterAll(async () => {
  worker.shutdown();
  await ran;
  await native.close();
  await connection.close();
});

const start = async (order: string): Promise<WorkflowHandle> =>
  client.workflow.start('refunds', {
    args: [{ order, cents: 40 }],
    taskQueue,
    workflowId: `plugin-${randomUUID()}`,
  });

const waiting = ({ workflowId }: WorkflowHandle) =>
  until('a request in the inbox', async () => {
    const all = await countersign.inbox({ limit: Infinity });
    const [item] = all.filter((one) => one.turn === workflowId && one.kind === 'request');
    return item;
  });

const replays = async (handle: WorkflowHandle): Promise<void> => {
  await expect(
    Worker.runReplayHistory({ workflowBundle: bundle, plugins: [plugin] }, await handle.fetchHistory()),
  ).resolves.toBeUndefined();
};

it('an approved call runs, and its result is that of the activity', async () => {
  const order = `approve-${randomUUID()}`;
  const handle = await start(order);
  await waiting(handle);
  expect(paidFor(order)).toEqual([]);
  const { agent, requests } = await countersign.view(handle.workflowId);
  expect(agent).toBe('refunds');
  expect(requests).toMatchObject([{ tool: 'refund', arguments: { order, cents: 40 }, effect: 'unsafe' }]);
  await countersign.decide(handle.workflowId, { callId: '1.1', decision: 'approved', approver: 'ann' });
  expect(await handle.result()).toBe('paid 40');
  expect(paidFor(order)).toHaveLength(1);
  expect((await countersign.timeline(handle.workflowId)).map(({ type }) => type)).toEqual([
    'turn_started',
    'call_prepared',
    'request_opened',
    'decision',
    'call_started',
    'call_ended',
    'turn_ended',
  ]);
  await replays(handle);
});

it('a person may change the arguments, as far as the schema allows', async () => {
  const order = `edit-${randomUUID()}`;
  const handle = await start(order);
  await waiting(handle);
  const edit = (cents: number) =>
    countersign.decide(handle.workflowId, {
      callId: '1.1',
      decision: 'modified',
      arguments: { order, cents },
      approver: 'ann',
    });
  const before = (await handle.describe()).historyLength;
  expect(await edit(99_999)).toMatchObject({ verdict: { code: 'invalid_arguments' } });
  expect((await handle.describe()).historyLength).toBe(before);
  await edit(7);
  expect(await handle.result()).toBe('paid 7');
  await replays(handle);
});

it('a denied call fails in the workflow, and never runs', async () => {
  const order = `deny-${randomUUID()}`;
  const handle = await start(order);
  await waiting(handle);
  await countersign.decide(handle.workflowId, {
    callId: '1.1',
    decision: 'denied',
    reason: 'too much',
    approver: 'ann',
  });
  await expect(handle.result()).rejects.toMatchObject({
    cause: { cause: { type: 'countersign.denied' } },
  });
  expect(paidFor(order)).toEqual([]);
  await replays(handle);
});
