import { randomUUID } from 'node:crypto';
import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign, type InboxItem } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { type ActivityGate, CountersignPlugin } from '../../src/plugin';
import { testAddress, testConnection } from '../support/server';
import { until } from '../support/until';
import { WITHOUT_THREADS } from '../support/worker-here';

interface Refund {
  order: string;
  cents: number;
}

/** What the activities did outside. */
const paid: Refund[] = [];
const paidFor = (order: string) => paid.filter((one) => one.order === order);
let release = (): void => undefined;
const released = new Promise<void>((resolve) => (release = resolve));
let releaseLate = (): void => undefined;
const late = new Promise<void>((resolve) => (releaseLate = resolve));
const refund = async (what: Refund): Promise<string> => {
  paid.push(what);
  if (what.order.startsWith('lost') && paidFor(what.order).length === 1) await released;
  if (what.order.startsWith('late')) await late;
  if (what.order.startsWith('broken')) throw new Error('card expired');
  return `paid ${what.cents}`;
};
const activities = {
  refund,
  tell: refund,
  look: refund,
  move: async (from: string, to: string): Promise<string> => `moved ${from} to ${to}`,
  callTool: async ({ name, input, token }: { name: string; input: Refund; token: string }) => ({
    ...{ name, input, token },
  }),
  note: async (text: string): Promise<string> => text,
};

const parameters = z.object({ order: z.string(), cents: z.int().max(10_000) });
const preview = ({ cents }: { cents?: unknown }): string => `pays ${String(cents)}`;
const gate: Record<string, ActivityGate> = {
  refund: { parameters, requestExpires: '1 minute' },
  tell: { parameters, preview, caller: 'model' },
  look: { safety: 'safe' },
  move: { args: ['from', 'to'], parameters: z.object({ from: z.string(), to: z.string() }) },
  callTool: { from: { tool: 'name', arguments: 'input' }, caller: 'model' },
  'child:paysOut': { parameters },
};
const plugin = new CountersignPlugin({ gate });
const workflowsPath = require.resolve('../fixtures/plugin-workflows.ts');
const taskQueue = `plugin-${randomUUID()}`;
const logger = new DefaultLogger('ERROR');
let native: NativeConnection;
let connection: Connection;
let client: Client;
let countersign: Countersign;
let bundle: { code: string };
const running: { worker: Worker; ran: Promise<void> }[] = [];

/** A worker that runs until the tests are over. */
async function startWorker(queue: string, options: object): Promise<void> {
  const own = { connection: native, taskQueue: queue, ...WITHOUT_THREADS, maxCachedWorkflows: 0, ...options };
  const worker = await Worker.create(own);
  running.push({ worker, ran: worker.run() });
}

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger });
  const address = testAddress();
  bundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger });
  native = await NativeConnection.connect({ address });
  connection = await testConnection(address);
  client = new Client({ connection });
  countersign = await connect({ client });
  await startWorker(taskQueue, { workflowBundle: bundle, activities, plugins: [plugin] });
});

afterAll(async () => {
  release();
  releaseLate();
  for (const { worker } of running) worker.shutdown();
  await Promise.all(running.map(({ ran }) => ran));
  await native.close();
  await connection.close();
});

const start = async (type: string, args: unknown[], queue = taskQueue): Promise<WorkflowHandle> =>
  client.workflow.start(type, { args, taskQueue: queue, workflowId: `plugin-${randomUUID()}` });

const waiting = ({ workflowId }: WorkflowHandle, kind: InboxItem['kind'] = 'request', count = 1) =>
  until(`${count} ${kind} in the inbox`, async () => {
    const all = await countersign.inbox({ limit: Infinity });
    const items = all.filter((one) => one.turn === workflowId && one.kind === kind);
    return items.length === count && items;
  });

const decide = ({ workflowId }: WorkflowHandle, decision: Partial<Decision> = {}) =>
  countersign.decide(workflowId, { callId: '1.1', decision: 'approved', approver: 'ann', ...decision });

/** A workflow with a request that waits. */
async function asking(type: string, ...args: unknown[]): Promise<WorkflowHandle> {
  const handle = await start(type, args);
  await waiting(handle);
  return handle;
}

const replays = async (handle: WorkflowHandle): Promise<void> => {
  await expect(
    Worker.runReplayHistory({ workflowBundle: bundle, plugins: [plugin] }, await handle.fetchHistory()),
  ).resolves.toBeUndefined();
};

const typesOf = async (handle: WorkflowHandle): Promise<string[]> =>
  (await countersign.timeline(handle.workflowId)).map(({ type }) => type);

const causeOf = async (handle: WorkflowHandle): Promise<unknown> =>
  handle.result().then(
    () => 'no failure',
    (error: { cause?: { cause?: unknown } }) => error.cause?.cause ?? error.cause,
  );

const orderOf = (what: string): string => `${what}-${randomUUID()}`;

it('an approved call runs, and its result is that of the activity', async () => {
  const order = orderOf('approve');
  const handle = await asking('refunds', { order, cents: 40 });
  expect(paidFor(order)).toEqual([]);
  const { agent, requests } = await countersign.view(handle.workflowId);
  expect(agent).toBe('refunds');
  const { events = [] } = await handle.fetchHistory();
  const prepared = events?.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityId === 'prepare-1.1',
  );
  // A night without workers fails no workflow.
  expect(Number(prepared?.activityTaskScheduledEventAttributes?.scheduleToCloseTimeout?.seconds ?? 0)).toBe(
    0,
  );
  expect(requests).toMatchObject([
    { tool: 'refund', arguments: { order, cents: 40 }, effect: 'unsafe', timeoutMs: 2000 },
  ]);
  await decide(handle);
  expect(await handle.result()).toBe('paid 40');
  expect(paidFor(order)).toHaveLength(1);
  expect(await typesOf(handle)).toEqual([
    ...['turn_started', 'call_prepared', 'request_opened', 'decision', 'call_started', 'call_ended'],
    'turn_ended',
  ]);
  await replays(handle);
});

it('a person may change the arguments, as far as the schema allows', async () => {
  const order = orderOf('edit');
  const handle = await asking('refunds', { order, cents: 40 });
  const edit = (cents: number) => decide(handle, { decision: 'modified', arguments: { order, cents } });
  const before = (await handle.describe()).historyLength;
  expect(await edit(99_999)).toMatchObject({ verdict: { code: 'validation' } });
  expect((await handle.describe()).historyLength).toBe(before);
  await edit(7);
  expect(await handle.result()).toBe('paid 7');
  await replays(handle);
});

it('a denied call fails in the workflow, and never runs', async () => {
  const order = orderOf('deny');
  const handle = await asking('refunds', { order, cents: 40 });
  await decide(handle, { decision: 'denied', reason: 'too much' });
  expect(await causeOf(handle)).toMatchObject({
    type: 'countersign.denied',
    message: 'ann denied this call: too much. Nothing ran.',
  });
  expect(paidFor(order)).toEqual([]);
  await replays(handle);
});

it('what the activity throws is passed on as it was', async () => {
  const handle = await asking('refunds', { order: orderOf('broken'), cents: 40 });
  await decide(handle);
  expect(await causeOf(handle)).toMatchObject({ type: 'Error', message: 'card expired' });
});

it('a model reads what a person changed, after a preview of the change', async () => {
  const order = orderOf('model');
  const handle = await asking('tells', { order, cents: 40 });
  await decide(handle, { decision: 'modified', arguments: { order, cents: 8 }, reason: 'less' });
  const { seenDigest, preview: shown } = await until('the new preview', async () => {
    const [request] = (await countersign.view(handle.workflowId)).requests;
    return request?.preview?.text === 'pays 8' && request;
  });
  expect(shown?.text).toBe('pays 8');
  await decide(handle, { seenDigest });
  expect(await handle.result()).toMatch(/cents: 40 → 8[^]*\n\npaid 8$/);
  await replays(handle);
});

it('a model reads why nothing ran', async () => {
  const handle = await asking('tells', { order: orderOf('model'), cents: 40 });
  await decide(handle, { decision: 'denied', reason: 'no' });
  expect(await handle.result()).toBe('ann denied this call: no. Nothing ran.');
});

it('positional arguments and tools of one activity are known by their names', async () => {
  const moved = await asking('moves', 'a', 'b');
  expect((await countersign.view(moved.workflowId)).requests).toMatchObject([
    { tool: 'move', arguments: { from: 'a', to: 'b' } },
  ]);
  await decide(moved, { decision: 'modified', arguments: { from: 'a', to: 'c' } });
  expect(await moved.result()).toBe('moved a to c');
  const called = await asking('calls', 'payOut', { order: 'x', cents: 1 });
  expect((await countersign.view(called.workflowId)).requests).toMatchObject([
    { tool: 'pay_out', arguments: { order: 'x', cents: 1 } },
  ]);
  await decide(called);
  expect(await called.result()).toEqual({ name: 'payOut', input: { order: 'x', cents: 1 }, token: 't' });
});

it('a call that nobody has to allow runs at once', async () => {
  const handle = await start('looks', [{ order: orderOf('look'), cents: 1 }]);
  expect(await handle.result()).toBe('paid 1');
  expect(await typesOf(handle)).toEqual(
    expect.arrayContaining(['call_prepared', 'call_started', 'call_ended']),
  );
  await replays(handle);
});

it.each([
  ['the schema', { order: 'x', cents: 99_999 }],
  ['what people can be shown', { order: 'x'.repeat(129 * 1024), cents: 1 }],
])('arguments that do not fit %s are refused before anybody is asked', async (_, what) => {
  const handle = await start('refunds', [what]);
  expect(await causeOf(handle)).toMatchObject({ type: 'countersign.validation' });
});

it('a call has an id of the gate, whatever id its activity was given', async () => {
  const handle = await asking('paysAs', { order: orderOf('named'), cents: 1 }, 'mine');
  await decide(handle);
  expect(await handle.result()).toBe('paid 1');
  const { events } = await handle.fetchHistory();
  const ids = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityId);
  expect(ids).toEqual(expect.arrayContaining(['call-1.1-0']));
  expect(ids).not.toContain('mine');
});

it('a local activity and a child workflow ask, too', async () => {
  const order = orderOf('local');
  const local = await asking('locally', { order, cents: 3 });
  await decide(local);
  expect(await local.result()).toBe('paid 3');
  await replays(local);
  const child = await asking('delegates', { order, cents: 40 });
  await decide(child, { decision: 'modified', arguments: { order, cents: 5 } });
  expect(await child.result()).toBe('paid out 5');
  await replays(child);
  const denied = await asking('delegates', { order, cents: 40 });
  await decide(denied, { decision: 'denied' });
  expect(await causeOf(denied)).toMatchObject({ type: 'countersign.denied' });
});

it('a run that continues as new goes on with the next id, and refuses decisions for the one before', async () => {
  const order = orderOf('again');
  const handle = await asking('again', { order, cents: 2 });
  await decide(handle);
  await until('the second request', async () => (await waiting(handle))[0]?.callId === '1.2');
  expect(await decide(handle, { approver: 'ben' })).toMatchObject({ verdict: { code: 'already_decided' } });
  await decide(handle, { callId: '1.2' });
  expect(await handle.result()).toBe('paid 2');
  expect(paidFor(order)).toHaveLength(2);
});

it('a run that asks nobody hands on which ids are spent', async () => {
  const handle = await asking('nowAndThen', { order: orderOf('now-and-then'), cents: 2 });
  await decide(handle);
  await until('the request of the third run', async () => (await waiting(handle))[0]?.callId === '1.2');
  expect(await decide(handle, { approver: 'ben' })).toMatchObject({ verdict: { code: 'already_decided' } });
  await decide(handle, { callId: '1.2' });
  expect(await handle.result()).toBe('done');
});

it.each(['ends', 'continues'])(
  'a run %s only when it is known what became of its unsafe calls',
  async (how) => {
    const handle = await asking('leaves', { order: orderOf('lost'), cents: 2 }, how);
    await decide(handle);
    await waiting(handle, 'in_doubt');
    await handle.signal('leave');
    await until('the signal is taken', async () => {
      const { events = [] } = await handle.fetchHistory();
      const last = (
        name: 'workflowExecutionSignaledEventAttributes' | 'workflowTaskCompletedEventAttributes',
      ) => events?.findLastIndex((event) => event[name]) ?? -1;
      const heard = last('workflowTaskCompletedEventAttributes');
      return heard > last('workflowExecutionSignaledEventAttributes');
    });
    await waiting(handle, 'in_doubt');
    const found = { callId: '1.1', resolution: 'did-not', approver: 'bob' } as const;
    expect(await countersign.resolve(handle.workflowId, found)).toMatchObject({ status: 'accepted' });
    expect(await handle.result()).toBe(how === 'ends' ? 'ends' : 'over');
    await replays(handle);
  },
);

it('a child workflow starts with what was shown, whatever the workflow does with its objects meanwhile', async () => {
  const handle = await asking('delegatesOn', { order: orderOf('changed'), cents: 5 });
  await decide(handle);
  expect(await handle.result()).toBe('paid out 5');
  await replays(handle);
});

it('createGate and the plugin are one gate', async () => {
  const handle = await start('bothWays', [{ order: orderOf('both'), cents: 2 }]);
  const items = await waiting(handle, 'request', 3);
  expect(items.map(({ tool }) => tool).sort()).toEqual(['refund', 'send_mail', 'write_note']);
  for (const { callId } of items) await decide(handle, { callId });
  expect(await handle.result()).toEqual(['1.1', '1.2', 'paid 2']);
  await replays(handle);
});

describe.each([
  ['before', true],
  ['after', false],
])('a workflow that sets handlers with our names %s it asks', (_, isBefore) => {
  it('gets each message that is not for a call of the gate', async () => {
    const order = orderOf('handles');
    const handle = await asking('handles', { order, cents: 40 }, isBefore);
    const update = (callId: string): Promise<unknown> =>
      handle.executeUpdate('decide', { args: [{ callId, decision: 'approved' }] });
    expect(await update('theirs')).toBe('own theirs');
    await expect(update('wrong')).rejects.toMatchObject({ cause: { message: 'not here' } });
    await handle.signal('approval', { callId: 'theirs' }, 7);
    expect(await decide(handle, { decision: 'modified', arguments: { order, cents: -1.5 } })).toMatchObject({
      verdict: { code: 'validation' },
    });
    await handle.signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann' });
    expect(await handle.result()).toEqual({ paid: 'paid 40', heard: [[{ callId: 'theirs' }, 7]] });
    await replays(handle);
  });
});

it.each(['map', 'bigint'])(
  'arguments that people could not be shown whole do not run: a %s',
  async (kind) => {
    const order = orderOf('odd');
    const handle = await start('paysOdd', [order, kind]);
    expect(await handle.result()).toBe('This call did not run: its arguments are not plain JSON.');
    expect(paidFor(order)).toEqual([]);
  },
);

it('the late end of a call settles its doubt', async () => {
  const order = orderOf('late');
  const handle = await asking('refunds', { order, cents: 3 });
  await decide(handle);
  await waiting(handle, 'in_doubt');
  releaseLate();
  expect(await handle.result()).toBe('paid 3');
  expect(paidFor(order)).toHaveLength(1);
  expect(await typesOf(handle)).toEqual(expect.arrayContaining(['in_doubt', 'call_ended']));
  await replays(handle);
});

it('gate.run runs an activity that the plugin gates under the name of the plugin alone', async () => {
  const order = orderOf('run');
  const other = await start('runsGated', [{ order, cents: 2 }, 'pay_back']);
  expect(await causeOf(other)).toMatchObject({
    type: 'countersign.gate',
    message: expect.stringContaining('the plugin gates this activity as the tool refund'),
  });
  const handle = await asking('runsGated', { order, cents: 2 }, 'refund');
  await decide(handle);
  expect(await handle.result()).toBe('paid 2');
});

it('a cancelled workflow withdraws what waits', async () => {
  const handle = await asking('cancelled', { order: orderOf('cancelled'), cents: 2 });
  await handle.cancel();
  expect(await handle.result()).toBe('cancelled');
  expect(await decide(handle)).toMatchObject({ status: 'refused' });
});

describe('an unsafe call whose only attempt is lost', () => {
  it.each<['happened' | 'did-not' | 'run-again', object, string | object, number]>([
    ['happened', { content: '"paid by wire"' }, 'paid by wire', 1],
    ['did-not', {}, { type: 'countersign.transport' }, 1],
    ['run-again', {}, 'paid 2', 2],
  ])('is in doubt until a person says %s', async (resolution, more, expected, times) => {
    const order = orderOf('lost');
    const handle = await asking('refunds', { order, cents: 2 });
    await decide(handle);
    await waiting(handle, 'in_doubt');
    const [call] = (await countersign.view(handle.workflowId)).calls;
    expect(call?.doubt).toMatchObject({ isKeyless: true });
    await countersign.resolve(handle.workflowId, { callId: '1.1', resolution, approver: 'bob', ...more });
    if (typeof expected === 'string') expect(await handle.result()).toBe(expected);
    else expect(await causeOf(handle)).toMatchObject(expected);
    expect(paidFor(order)).toHaveLength(times);
    await replays(handle);
  });
});

it("a converter of the user's own touches nothing that people read", async () => {
  const payloadConverterPath = require.resolve('../fixtures/plugin-users/converter.ts');
  const own = { workflowsPath, plugins: [plugin], logger };
  const workflowBundle = await bundleWorkflowCode({ ...own, payloadConverterPath });
  const queue = `plugin-converter-${randomUUID()}`;
  const dataConverter = { payloadConverterPath };
  await startWorker(queue, { workflowBundle, dataConverter, activities, plugins: [plugin] });
  const theirs = new Client({ connection, dataConverter }).workflow;
  const order = orderOf('converter');
  const ask = async (type: string, args: unknown[]) =>
    theirs.start(type, { args, taskQueue: queue, workflowId: `plugin-${randomUUID()}` });
  const handle = await ask('tells', [{ order, cents: 40 }]);
  await waiting(handle);
  const { requests } = await countersign.view(handle.workflowId);
  expect(requests).toMatchObject([{ tool: 'tell', arguments: { order, cents: 40 } }]);
  const edit = { decision: 'modified', arguments: { order, cents: 8 } } as const;
  expect(await decide(handle, edit)).toMatchObject({ status: 'accepted' });
  const { seenDigest } = await until('the new preview', async () => {
    const [request] = (await countersign.view(handle.workflowId)).requests;
    return request?.preview?.text === 'pays 8' && request;
  });
  await decide(handle, { seenDigest });
  expect(await handle.result()).toMatch(/paid 8$/);
  const lost = await ask('refunds', [{ order: orderOf('lost'), cents: 2 }]);
  await waiting(lost);
  await decide(lost);
  await waiting(lost, 'in_doubt');
  const found = { callId: '1.1', resolution: 'happened', approver: 'bob', content: '"by wire"' } as const;
  expect(await countersign.resolve(lost.workflowId, found)).toMatchObject({ status: 'accepted' });
  expect(await lost.result()).toBe('by wire');
});

describe('both sides have to have the plugin', () => {
  it('a bundle without it, or with other names, is refused when the worker starts', async () => {
    const other = new CountersignPlugin({ gate: { refund: { caller: 'model' } } });
    const own = { taskQueue: 'x', connection: native, activities };
    for (const plugins of [[], [other]]) {
      const { code } = await bundleWorkflowCode({ workflowsPath, plugins, logger });
      await expect(
        Worker.create({ ...own, workflowBundle: { code }, plugins: [plugin] }),
      ).rejects.toMatchObject({ code: 'gate_missing' });
    }
  });

  it('an activity of a workflow that did not ask does not run', async () => {
    const queue = `plugin-without-${randomUUID()}`;
    const { code } = await bundleWorkflowCode({ workflowsPath, logger });
    await startWorker(queue, { workflowBundle: { code }, activities: {} });
    await startWorker(queue, { activities, plugins: [plugin] });
    const order = orderOf('without');
    const handle = await start('refunds', [{ order, cents: 2 }], queue);
    expect(await causeOf(handle)).toMatchObject({
      type: 'countersign.gate_refused',
      message: expect.stringContaining('the workflow did not ask'),
    });
    const gated = await start('bothWays', [{ order, cents: 2 }], queue);
    expect(await causeOf(gated)).toMatchObject({ type: 'countersign.gate_missing' });
    expect(paidFor(order)).toEqual([]);
  });

  it('a call is refused where the worker of its activity has another schema', async () => {
    const queue = `plugin-other-${randomUUID()}`;
    const strict = new CountersignPlugin({
      gate: { ...gate, refund: { parameters: z.object({ order: z.string(), cents: z.int().max(10) }) } },
    });
    await startWorker(queue, { workflowBundle: bundle, plugins: [strict], activities });
    const order = orderOf('other');
    const handle = await start('refunds', [{ order, cents: 40 }], queue);
    expect(await causeOf(handle)).toMatchObject({ type: 'countersign.validation' });
    expect(paidFor(order)).toEqual([]);
  });

  it.each([
    ['no header of ours', '"x"', 'none of a gate'],
    ['20,000 keys', 'Object.fromEntries([...Array(20000).keys()].map((n) => ["k" + n, n]))', 'bytes'],
    ['2 MB', '"x".repeat(2000000)', 'bytes'],
  ])('a hostile header is refused, and the worker lives: %s', async (_, value, message) => {
    const order = orderOf('hostile');
    const queue = `plugin-hostile-${randomUUID()}`;
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      workflowInterceptorModules: [hostile(value)],
      logger,
    });
    await startWorker(queue, { workflowBundle: { code } });
    await startWorker(queue, { activities, plugins: [plugin] });
    const handle = await start('refunds', [{ order, cents: 2 }], queue);
    expect(await causeOf(handle)).toMatchObject({
      type: 'countersign.gate_refused',
      message: expect.stringContaining(message),
    });
    expect(paidFor(order)).toEqual([]);
  });
});

/** An interceptor that writes this value into the header. */
function hostile(value: string): string {
  const common = JSON.stringify(require.resolve('@temporalio/common'));
  const code = `
    import { defaultPayloadConverter } from ${common};
    const headers = { 'countersign-gate': defaultPayloadConverter.toPayload(${value}) };
    const scheduleActivity = (input, next) => next({ ...input, headers });
    export const interceptors = () => ({ outbound: [{ scheduleActivity }] });`;
  return `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
}
