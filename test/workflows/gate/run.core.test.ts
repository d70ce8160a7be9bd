import { randomUUID } from 'node:crypto';
import { Client, type Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { connect, type Countersign, type InboxItem } from '../../../src/client';
import type { Decision, Resolution } from '../../../src/contract/decision';
import { CountersignPlugin } from '../../../src/plugin';
import { testAddress, testConnection } from '../../support/server';
import { resetTurn } from '../../support/operator';
import { laterTask, taskBefore } from '../../support/resets';
import { until } from '../../support/until';
import { WITHOUT_THREADS } from '../../support/worker-here';

/** What an activity did outside: each payment with its idempotency key. */
const paid: { order: string; amount: number; key: string }[] = [];
const paidFor = (order: string) => paid.filter((one) => one.order === order);

/** Lets activities end that never come back by themselves. */
let release = (): void => undefined;
const released = new Promise<void>((resolve) => (release = resolve));

/** Pays, then returns, throws or never comes back, as the order says. */
async function pay(what: { order: string; amount: number }, key: string): Promise<string> {
  const isFirst = paidFor(what.order).length === 0;
  if (what.order.startsWith('expired')) throw new Error('card expired');
  paid.push({ ...what, key });
  if (what.order.startsWith('lost') && isFirst) await released;
  if (what.order.startsWith('cut')) throw new TypeError('fetch failed');
  return `paid ${what.amount}`;
}

/** It names nothing: the workflows ask in their code. */
const plugin = new CountersignPlugin({ gate: {} });
const taskQueue = `gate-run-${randomUUID()}`;
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
  bundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../fixtures/gate-workflows.ts'),
    plugins: [plugin],
    logger: new DefaultLogger('ERROR'),
  });
  native = await NativeConnection.connect({ address });
  connection = await testConnection(address);
  client = new Client({ connection });
  countersign = await connect({ client });
  const own = { taskQueue, workflowBundle: bundle, activities: { pay }, plugins: [plugin] };
  worker = await Worker.create({ connection: native, ...own, ...WITHOUT_THREADS, maxCachedWorkflows: 0 });
  ran = worker.run();
});

afterAll(async () => {
  release();
  worker.shutdown();
  await ran;
  await native.close();
  await connection.close();
});

const start = async (type: string, ...args: unknown[]): Promise<WorkflowHandle> =>
  client.workflow.start(type, { args, taskQueue, workflowId: `gate-run-${randomUUID()}` });

const startPaying = (order: string, more: object = {}): Promise<WorkflowHandle> =>
  start('pays', { arguments: { order, amount: 40 }, ...more });

const waiting = ({ workflowId }: WorkflowHandle, kind: InboxItem['kind'] = 'request', count = 1) =>
  until(`${count} ${kind} in the inbox`, async () => {
    const all = await countersign.inbox({ limit: Infinity });
    const items = all.filter((item) => item.turn === workflowId && item.kind === kind);
    return items.length === count && items;
  });

const decide = ({ workflowId }: WorkflowHandle, decision: Partial<Decision> = {}) =>
  countersign.decide(workflowId, { callId: '1.1', decision: 'approved', approver: 'ann', ...decision });

const resolve = ({ workflowId }: WorkflowHandle, resolution: Omit<Resolution, 'callId'>) =>
  countersign.resolve(workflowId, { callId: '1.1', approver: 'bob', ...resolution });

/** Starts, approves, and waits until the call is in doubt. A call that never comes back is so after its timeout. */
async function inDoubt(order: string, timeout = '1s'): Promise<WorkflowHandle> {
  const handle = await startPaying(order, { timeout });
  await waiting(handle);
  await decide(handle);
  await waiting(handle, 'in_doubt');
  return handle;
}

const typesOf = async (handle: WorkflowHandle): Promise<string[]> =>
  (await countersign.timeline(handle.workflowId)).map(({ type }) => type);

const replays = async (handle: WorkflowHandle): Promise<void> => {
  await expect(
    Worker.runReplayHistory({ workflowBundle: bundle, plugins: [plugin] }, await handle.fetchHistory()),
  ).resolves.toBeUndefined();
};

it('a call that the gate runs is done with what its activity returned', async () => {
  const order = `plain-${randomUUID()}`;
  const handle = await startPaying(order);
  const [item] = await waiting(handle);
  const [request] = (await countersign.view(handle.workflowId)).requests;
  expect(request).toMatchObject({ effect: 'unsafe', timeoutMs: 60_000 });
  expect(request).not.toHaveProperty('unowned', expect.anything());
  await decide(handle);
  expect(await handle.result()).toMatchObject({ outcome: 'done', result: 'paid 40', approver: 'ann' });
  expect(paidFor(order)).toEqual([{ order, amount: 40, key: `${item?.callKey}:0` }]);
  expect(await typesOf(handle)).toEqual([
    ...['turn_started', 'about', 'call_prepared', 'request_opened', 'decision', 'call_started'],
    ...['call_ended', 'turn_ended'],
  ]);
  await replays(handle);
});

it('a decision by signal stands in history before the call that it allows', async () => {
  const handle = await startPaying(`signal-${randomUUID()}`);
  await waiting(handle);
  await handle.signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann' });
  await handle.result();
  const types = await typesOf(handle);
  expect(types.indexOf('decision')).toBeLessThan(types.indexOf('call_started'));
});

it('a person changes the arguments, and the workflow hears it', async () => {
  const order = `edited-${randomUUID()}`;
  const handle = await startPaying(order);
  await waiting(handle);
  await decide(handle, { decision: 'modified', arguments: { order, amount: 20 }, reason: 'half' });
  expect(await handle.result()).toMatchObject({
    ...{ outcome: 'done', result: 'paid 20', decision: 'modified' },
    note: expect.stringContaining('amount: 40 → 20'),
  });
});

it.each<[string, Partial<Decision>, object]>([
  [
    'denied',
    { decision: 'denied', reason: 'no' },
    { allowed: false, message: 'ann denied this call: no. Nothing ran.' },
  ],
  ['approved', {}, { allowed: true, outcome: 'failed', message: 'card expired' }],
])('where nothing is paid the workflow hears why: %s', async (_, decision, expected) => {
  const order = `expired-${randomUUID()}`;
  const handle = await startPaying(order);
  await waiting(handle);
  await decide(handle, decision);
  expect(await handle.result()).toMatchObject(expected);
  expect(paidFor(order)).toEqual([]);
  await replays(handle);
});

describe("after Temporal's own reset, which applies decisions again", () => {
  it.each(['update', 'signal'] as const)('a decision by %s allows nothing once more', async (how) => {
    const order = `again-${how}-${randomUUID()}`;
    const handle = await startPaying(order);
    await waiting(handle);
    if (how === 'update') await decide(handle);
    else await handle.signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann' });
    await handle.result();
    await resetTurn(handle, '--event-id', await taskBefore(handle, 'pay'));
    const next = client.workflow.getHandle(handle.workflowId);
    await waiting(next);
    await laterTask(next);
    expect(paidFor(order)).toHaveLength(1);
    await decide(next, { approver: 'ben' });
    // The journal of this machine has what the call returned before the reset.
    expect(await next.result()).toMatchObject({ outcome: 'done', result: 'paid 40', approver: 'ben' });
    expect(paidFor(order)).toHaveLength(1);
    await replays(next);
  });

  it('once more, what was decided before and after the first reset allows nothing', async () => {
    const order = `twice-${randomUUID()}`;
    const handle = await startPaying(order);
    await waiting(handle);
    await handle.signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann' });
    await handle.result();
    const back = async (): Promise<WorkflowHandle> => {
      const last = client.workflow.getHandle(handle.workflowId);
      await resetTurn(last, '--event-id', await taskBefore(last, 'pay'));
      await waiting(last);
      await laterTask(last);
      return last;
    };
    const second = await back();
    expect(paidFor(order)).toHaveLength(1);
    await second.signal('approval', { callId: '1.1', decision: 'approved', approver: 'ben' });
    await second.result();
    const third = await back();
    await decide(third, { approver: 'cy' });
    expect(await third.result()).toMatchObject({ outcome: 'done', approver: 'cy' });
    expect(paidFor(order)).toHaveLength(1);
    await replays(third);
  });

  it('an unsafe call that ran is in doubt, and a person says how it ended', async () => {
    const order = `lost-reset-${randomUUID()}`;
    const handle = await startPaying(order);
    await waiting(handle);
    await decide(handle);
    await until('the call', async () => paidFor(order).length > 0);
    await laterTask(handle);
    await resetTurn(handle, '--type', 'LastWorkflowTask');
    const next = client.workflow.getHandle(handle.workflowId);
    await waiting(next, 'in_doubt');
    expect((await countersign.view(handle.workflowId)).calls).toMatchObject([{ phase: 'in_doubt' }]);
    await resolve(next, { resolution: 'happened' });
    expect(await next.result()).toMatchObject({ outcome: 'happened' });
    await replays(next);
  });
});

describe('an unsafe call whose only attempt is lost', () => {
  it.each<[string, Omit<Resolution, 'callId'>, object]>([
    [
      'it happened',
      { resolution: 'happened', content: 'paid by wire' },
      {
        outcome: 'happened',
        message: expect.stringMatching(/bob found that it did take effect\.\n\npaid by wire$/),
      },
    ],
    [
      'it did not',
      { resolution: 'did-not' },
      { outcome: 'failed', message: 'The call was interrupted. bob found that it did not take effect.' },
    ],
  ])('is in doubt until a person says that %s, and is not started again', async (_, said, expected) => {
    const order = `lost-${randomUUID()}`;
    const handle = await inDoubt(order);
    expect(await countersign.view(handle.workflowId)).toMatchObject({ status: 'in_doubt' });
    expect(await resolve(handle, said)).toMatchObject({ status: 'accepted' });
    expect(await handle.result()).toMatchObject({ allowed: true, approver: 'ann', ...expected });
    expect(paidFor(order)).toHaveLength(1);
    expect((await countersign.view(handle.workflowId)).calls).toMatchObject([{ phase: 'done' }]);
    await replays(handle);
  });

  it('runs again where a person says so, with a key of its own', async () => {
    const order = `lost-${randomUUID()}`;
    const handle = await inDoubt(order, '5s');
    await resolve(handle, { resolution: 'run-again' });
    expect(await handle.result()).toMatchObject({ outcome: 'done', result: 'paid 40' });
    expect(paidFor(order).map(({ key }) => key.split(':').at(-1))).toEqual(['0', '1']);
    expect(await typesOf(handle)).toEqual(expect.arrayContaining(['call_lost', 'in_doubt', 'resolved']));
    await replays(handle);
  });

  it('takes a resolution by signal', async () => {
    const handle = await inDoubt(`lost-${randomUUID()}`);
    await handle.signal('resolution', { callId: '1.1', resolution: 'did-not' });
    expect(await handle.result()).toMatchObject({ outcome: 'failed' });
    await replays(handle);
  });

  it('is in doubt where a connection broke: the other side may have acted', async () => {
    const order = `cut-${randomUUID()}`;
    const handle = await inDoubt(order);
    expect(paidFor(order)).toHaveLength(1);
    await resolve(handle, { resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ outcome: 'happened' });
  });

  it('keeps a cancelled workflow open until a person resolves it, and is not run again there', async () => {
    const handle = await inDoubt(`lost-${randomUUID()}`);
    await countersign.cancel(handle.workflowId);
    await until('the cancellation', async () => (await typesOf(handle)).includes('cancel_requested'));
    expect(await resolve(handle, { resolution: 'run-again' })).toMatchObject({ status: 'refused' });
    await resolve(handle, { resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ outcome: 'happened' });
    await replays(handle);
  });

  it('ends as unknown where a person abandons the cancelled workflow', async () => {
    const handle = await inDoubt(`lost-${randomUUID()}`);
    await countersign.abandon(handle.workflowId, { approver: 'bob', reason: 'closed' });
    expect(await handle.result()).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('bob ended'),
    });
    await replays(handle);
  });
});

describe('a call that never starts', () => {
  const isCancellation = (error: unknown): boolean =>
    error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure;
  /** Says what is on record where the workflow does not end. */
  const failureOf = async (handle: WorkflowHandle): Promise<unknown> => {
    const ended = handle.result().catch((error: unknown) => error);
    const isOver = async (): Promise<boolean> => (await handle.describe()).status.name !== 'RUNNING';
    await until('the end', isOver).catch(async (error: unknown) => {
      throw new Error(JSON.stringify(historyToJSON(await handle.fetchHistory())), { cause: error });
    });
    return ended;
  };

  it('is withdrawn where its workflow is cancelled before anybody decided', async () => {
    const order = `withdrawn-${randomUUID()}`;
    const handle = await startPaying(order);
    await waiting(handle);
    await countersign.cancel(handle.workflowId);
    expect(isCancellation(await failureOf(handle))).toBe(true);
    expect(await decide(handle)).toMatchObject({ status: 'refused' });
    expect(paidFor(order)).toEqual([]);
    await replays(handle);
  });

  it('is not in doubt where its workflow is cancelled before a worker had it', async () => {
    const handle = await startPaying('x', { taskQueue: `nobody-${randomUUID()}` });
    await waiting(handle);
    await decide(handle);
    await until('the start', async () => (await typesOf(handle)).includes('call_started'));
    await countersign.cancel(handle.workflowId);
    expect(isCancellation(await failureOf(handle))).toBe(true);
    const [call] = (await countersign.view(handle.workflowId)).calls;
    expect(call).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
    await replays(handle);
  });

  it('failed where no worker took it in time', async () => {
    const nobodys = { taskQueue: `nobody-${randomUUID()}`, startWithin: '1s' };
    const handle = await startPaying('x', nobodys);
    await waiting(handle);
    await decide(handle);
    const message = 'No worker started this call in time. Nothing ran.';
    expect(await handle.result()).toMatchObject({ outcome: 'failed', message });
    await replays(handle);
  });
});

it('a call that may run again does so by itself, with the same key', async () => {
  const order = `lost-${randomUUID()}`;
  const handle = await startPaying(order, { effect: 'idempotent', timeout: '5s' });
  await waiting(handle);
  await decide(handle);
  expect(await handle.result()).toMatchObject({ outcome: 'done', result: 'paid 40' });
  expect(paidFor(order)).toHaveLength(2);
  expect(new Set(paidFor(order).map(({ key }) => key)).size).toBe(1);
});

it('a schema of zod is what changed arguments are checked against', async () => {
  const handle = await start('withZod');
  await waiting(handle);
  const changed = (amount: number) =>
    decide(handle, { decision: 'modified', arguments: { order: '17', amount } });
  expect(await changed(500)).toMatchObject({ status: 'refused', verdict: { code: 'validation' } });
  expect(await changed(30)).toMatchObject({ status: 'accepted' });
  expect(await handle.result()).toBe(30);
  await replays(handle);
});

it('a tool for an AI SDK tells the model what a person changed', async () => {
  const handle = await start('tools');
  await waiting(handle, 'request', 2);
  const changed = { decision: 'modified', arguments: { order: '17', amount: 25 }, reason: 'half' } as const;
  await decide(handle, changed);
  await decide(handle, { ...changed, callId: '1.2' });
  const note = expect.stringContaining('ann changed the arguments of this call before it ran. Reason: half');
  const [byGate, byWorkflow] = JSON.parse(JSON.stringify(await handle.result()));
  expect(byGate).toEqual(expect.stringMatching(/amount: 40 → 25[^]*paid 25$/));
  expect(byWorkflow).toEqual({ note, result: { amount: 25 } });
  await replays(handle);
});
