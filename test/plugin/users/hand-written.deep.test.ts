import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../../src/client';
import type { Decision } from '../../../src/contract/decision';
import { CountersignPlugin } from '../../../src/plugin';
import { testAddress } from '../../support/server';
import { until } from '../../support/until';

/** A worker that somebody had, with one line more. */
const workflowsPath = require.resolve('../../fixtures/plugin-users/hand-written.ts');
const logger = new DefaultLogger('ERROR');
const stateDir = mkdtempSync(join(tmpdir(), 'countersign-users-'));
const parameters = z.object({ order: z.string(), cents: z.int().positive() });
const makePlugin = (): CountersignPlugin =>
  new CountersignPlugin({
    gate: { refund: { parameters }, refundSoon: { parameters, requestExpires: '1 second' } },
    stateDir,
  });

const paid: string[] = [];
const refund = async ({ order, cents }: { order: string; cents: number }): Promise<string> => {
  paid.push(`${order} ${cents}`);
  return `paid ${cents}`;
};
const activities = { refund, refundSoon: refund, look: async (order: string) => `looked at ${order}` };

let connection: NativeConnection;
let countersign: Countersign;

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger });
  connection = await NativeConnection.connect({ address: testAddress() });
  countersign = await connect({ address: testAddress() });
});

afterAll(async () => {
  await countersign.close();
  await connection.close();
  rmSync(stateDir, { recursive: true, force: true });
});

type Code = Pick<Parameters<typeof Worker.create>[0], 'workflowsPath' | 'workflowBundle'>;

describe.each<[string, () => Promise<Code>]>([
  ['workflowsPath', async () => ({ workflowsPath })],
  [
    'a bundle that was made before',
    async () => ({
      workflowBundle: await bundleWorkflowCode({ workflowsPath, plugins: [makePlugin()], logger }),
    }),
  ],
])('a worker with %s', (_, codeOf) => {
  const taskQueue = `users-${randomUUID()}`;
  let code: Code;
  let worker: Worker;
  let ran: Promise<void>;

  beforeAll(async () => {
    code = await codeOf();
    worker = await Worker.create({ connection, taskQueue, ...code, activities, plugins: [makePlugin()] });
    ran = worker.run();
  }, 60_000);

  afterAll(async () => {
    worker.shutdown();
    await ran;
  });

  const start = (order: string, cents: number): Promise<WorkflowHandle> =>
    countersign.client.workflow.start('refundOrder', {
      ...{ args: [{ order, cents }], taskQueue, workflowId: `${order}-${taskQueue}` },
    });
  const asked = (turn: string): Promise<string> =>
    until(`a request of ${turn}`, async () => (await countersign.view(turn)).requests[0]?.callId);

  it.each<[string, Omit<Decision, 'callId'>, string, string[]]>([
    ['approved', { decision: 'approved' }, 'paid 90', ['approved 90']],
    ['modified', { decision: 'modified', arguments: { order: 'other', cents: 70 } }, 'paid 70', ['other 70']],
    [
      'denied',
      { decision: 'denied', reason: 'not this one' },
      'countersign.denied: ann denied this call: not this one. Nothing ran.',
      [],
    ],
  ])('%s by a person, and replayed', async (order, decision, told, happened) => {
    paid.length = 0;
    const handle = await start(order, 90);
    const callId = await asked(handle.workflowId);
    const decided = { callId, approver: 'ann', ...decision };
    expect(await countersign.decide(handle.workflowId, decided)).toMatchObject({ status: 'accepted' });
    expect(await handle.result()).toBe(told);
    expect(paid).toEqual(happened);
    await replays(handle);
  });

  it('expired, and replayed', async () => {
    paid.length = 0;
    const handle = await start('late', 900);
    expect(await handle.result()).toMatch(/^countersign\.expired: /);
    expect(paid).toEqual([]);
    await replays(handle);
  });

  const replays = async (handle: WorkflowHandle): Promise<void> => {
    const history = await handle.fetchHistory();
    const options = { ...code, plugins: [makePlugin()] };
    await expect(Worker.runReplayHistory(options, history, handle.workflowId)).resolves.toBeUndefined();
  };
});

it('leaves no event in a workflow that calls nothing gated', async () => {
  const eventsWith = async (plugins: CountersignPlugin[]): Promise<unknown[]> => {
    const taskQueue = `users-${randomUUID()}`;
    const worker = await Worker.create({ connection, taskQueue, workflowsPath, activities, plugins });
    const handle = await worker.runUntil(async () => {
      const place = { args: ['A-1'], taskQueue, workflowId: `free-${taskQueue}` };
      const started = await countersign.client.workflow.start('lookAt', place);
      await started.result();
      return started;
    });
    const { events } = await handle.fetchHistory();
    return (events ?? []).map(({ eventType }) => eventType);
  };
  expect(await eventsWith([makePlugin()])).toEqual(await eventsWith([]));
}, 60_000);
