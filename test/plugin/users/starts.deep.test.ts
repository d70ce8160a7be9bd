import { randomUUID } from 'node:crypto';
import { DefaultLogger, type LogEntry, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect } from '../../../src/client';
import { CountersignPlugin } from '../../../src/plugin';
import { startProgram } from '../../cli/process';
import { testAddress, testCli } from '../../support/server';
import { until } from '../../support/until';

/** A worker of a user in a namespace that nobody has prepared, and options that cannot be meant. */
const workflowsPath = require.resolve('../../fixtures/plugin-users/hand-written.ts');
const logged: LogEntry[] = [];
const parameters = z.object({ order: z.string(), cents: z.int() });
const activities = { refund: async () => 'paid' };
const namespace = `users-${randomUUID()}`;
const address = testAddress();
let connection: NativeConnection;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('WARN', (entry) => logged.push(entry)) });
  const made = ['operator', 'namespace', 'create', '--namespace', namespace, '--address', address];
  expect(await startProgram([testCli(), ...made]).ended).toMatchObject({ code: 0 });
  connection = await NativeConnection.connect({ address });
}, 60_000);

afterAll(() => connection.close());

const create = async (gate: Record<string, object>): Promise<Worker> =>
  Worker.create({
    ...{ connection, namespace, workflowsPath, activities, taskQueue: randomUUID() },
    plugins: [new CountersignPlugin({ gate })],
  });

it('registers what the inbox needs, before anybody is asked', async () => {
  const worker = await create({ refund: { parameters } });
  const client = await connect({ address, namespace });
  await worker.runUntil(async () => {
    await expect(client.inbox({})).resolves.toEqual([]);
  });
  await client.close();
}, 90_000);

it('warns of an activity that the worker does not have', async () => {
  const worker = await create({ refund: { parameters }, refnud: { parameters }, 'child:other': {} });
  await worker.runUntil(Promise.resolve());
  expect(logged.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/gates refnud, which this worker of queue \S+ does not have$/),
  );
}, 60_000);

it('says soon that nobody with activities takes what a workflow asks', async () => {
  const taskQueue = randomUUID();
  const place = { connection, namespace, workflowsPath, taskQueue };
  const worker = await Worker.create({ ...place, plugins: [new CountersignPlugin({ gate: {} })] });
  const countersign = await connect({ address, namespace });
  const handle = await worker.runUntil(async () => {
    const started = await countersign.client.workflow.start('asksItself', {
      taskQueue,
      workflowId: taskQueue,
    });
    await until('the warning', () => logged.some(({ message }) => message.startsWith('nobody is asked yet')));
    return started;
  });
  await handle.terminate();
  await countersign.close();
}, 90_000);

it.each<[string, Record<string, object>, RegExp]>([
  ['two names with one tool', { refundOrder: {}, refund_order: {} }, /have the tool refund_order/],
  ['a name of ours', { 'countersign.gate': {} }, /countersign\.gate: a name of Countersign/],
  ['arguments that the schema lacks', { refund: { parameters, args: ['order', 'sum'] } }, /has no `sum`/],
])('refuses %s', async (_, gate, message) => {
  await expect(create(gate)).rejects.toThrow(message);
});
