import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../../src/client';
import { CountersignPlugin } from '../../../src/plugin';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineConfig } from '../../../src/tools/define-config';
import { type RunningWorker, startWorker } from '../../../src/worker';
import { drawKey, ringOf } from '../../encryption/ring';
import { startOwnServer } from '../../support/server';
import { until } from '../../support/until';

/** Gated calls of a user's own worker, where payloads are encrypted, and where somebody pauses. */
const taskQueue = `protected-${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), 'countersign-protected-'));
const keys = [drawKey('first')];
const encryption = { keys, required: true };
const refunds: string[] = [];
const plugin = new CountersignPlugin({
  gate: { refund: { parameters: z.object({ order: z.string(), cents: z.int() }) } },
  stateDir: join(folder, 'state'),
});

let server: Awaited<ReturnType<typeof startOwnServer>>;
let connection: NativeConnection;
let client: Countersign;
let control: RunningWorker;
let worker: Worker;
let ran: Promise<void>;

beforeAll(async () => {
  server = await startOwnServer();
  const { address } = server;
  const agent = defineAgent({ name: 'idle', instructions: 'Wait.', model: scriptedModel([]), tools: [] });
  const config = defineConfig({
    agents: [agent],
    taskQueue: `${taskQueue}-control`,
    stateDir: join(folder, 'control'),
  });
  control = await startWorker({ config, address, encryption });
  process.env['COUNTERSIGN_ENCRYPTION_KEYS'] = keys.join(',');
  connection = await NativeConnection.connect({ address });
  client = await connect({ address, encryption });
  const workflowsPath = require.resolve('../../fixtures/plugin-users/hand-written.ts');
  worker = await Worker.create({
    ...{ connection, taskQueue, plugins: [plugin], dataConverter: ringOf(encryption).worker() },
    workflowBundle: await bundleWorkflowCode({ workflowsPath, plugins: [plugin] }),
    activities: {
      refund: async ({ order, cents }: { order: string; cents: number }) => {
        refunds.push(order);
        return `paid ${cents} for ${order}`;
      },
    },
  });
  ran = worker.run();
}, 120_000);

afterAll(async () => {
  delete process.env['COUNTERSIGN_ENCRYPTION_KEYS'];
  worker.shutdown();
  await ran;
  await control.stop();
  await client.close();
  await connection.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A workflow whose refund waits for a person. */
async function asking(order: string): Promise<WorkflowHandle> {
  const handle = await client.client.workflow.start('refundOrder', {
    ...{ args: [{ order, cents: 90 }], taskQueue, workflowId: `order-${randomUUID()}` },
  });
  await until('the request', async () =>
    (await client.inbox({})).some(({ turn }) => turn === handle.workflowId),
  );
  return handle;
}

const approve = ({ workflowId }: WorkflowHandle, more: object = {}) =>
  client.decide(workflowId, { callId: '1.1', decision: 'approved', approver: 'ann', ...more });

it('people see what is asked, and the server keeps none of it in plain text', async () => {
  const order = `order-of-a-customer-${randomUUID()}`;
  const handle = await asking(order);
  const [request] = (await client.view(handle.workflowId)).requests;
  expect(request).toMatchObject({ tool: 'refund', arguments: { order, cents: 90 } });
  await approve(handle, {
    decision: 'modified',
    arguments: { order, cents: 70 },
    reason: `less for ${order}`,
  });
  expect(await handle.result()).toBe(`paid 70 for ${order}`);
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call).toMatchObject({ effective: { cents: 70 }, outcome: 'done' });
  const execution = { workflowId: handle.workflowId };
  const { History } = temporal.api.history.v1;
  const { DescribeWorkflowExecutionResponse: Described } = temporal.api.workflowservice.v1;
  const described = await client.client.workflowService.describeWorkflowExecution({
    ...{ namespace: 'default', execution },
  });
  const kept = [History.encode(await handle.fetchHistory()).finish(), Described.encode(described).finish()];
  expect(Buffer.concat(kept).includes('order-of-a-customer')).toBe(false);
});

it('a pause holds a call that was approved, and it runs once when it may', async () => {
  const order = randomUUID();
  const handle = await asking(order);
  await client.pause({ tool: 'refund', reason: 'the bank is down', by: 'ann' });
  await approve(handle);
  const types = async (): Promise<string[]> =>
    (await client.timeline(handle.workflowId)).map(({ type }) => type);
  await until('the call to be held', async () => (await types()).includes('call_held'));
  expect(refunds).not.toContain(order);
  await client.resume({ tool: 'refund', by: 'ann' });
  expect(await handle.result()).toBe(`paid 90 for ${order}`);
  expect(refunds.filter((one) => one === order)).toHaveLength(1);
  const { calls } = await client.view(handle.workflowId);
  expect(calls).toMatchObject([{ attempts: 1, generation: 0 }]);
});
