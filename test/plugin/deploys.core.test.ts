import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../src/client';
import { type ActivityGate, CountersignPlugin, type PluginOptions } from '../../src/plugin';
import { onCall, resetRun } from '../support/operator';
import { testAddress, testConnection } from '../support/server';
import { until } from '../support/until';
import { WITHOUT_THREADS } from '../support/worker-here';

/** What the activities did outside, by order. */
const paid: string[] = [];
const times = (order: string): number => paid.filter((one) => one === order).length;
let release = (): void => undefined;
const released = new Promise<void>((resolve) => (release = resolve));
const pay = async ({ order }: { order: string }): Promise<string> => {
  paid.push(order);
  if (order.startsWith('lost') && times(order) === 1) await released;
  return `paid ${times(order)}`;
};
const activities = { refund: pay, wire: pay };

const parameters = z.object({ order: z.string() });
const directory = mkdtempSync(join(tmpdir(), 'countersign-deploys-'));
let machines = 0;
const pluginWith = (gate: Record<string, ActivityGate>, more: Partial<PluginOptions> = {}) =>
  new CountersignPlugin({ gate, stateDir: join(directory, String((machines += 1))), ...more });

const logger = new DefaultLogger('ERROR');
const workflowsPath = require.resolve('../fixtures/plugin-deploys.ts');
let native: NativeConnection;
let connection: Connection;
let client: Client;
let countersign: Countersign;
const running = new Set<() => Promise<void>>();
const bundles = new Map<string, Promise<{ code: string }>>();

/** One bundle for all workers with the same names. */
function bundleOf(
  plugin: CountersignPlugin | undefined,
  names: readonly string[],
): Promise<{ code: string }> {
  const key = names.join();
  const made =
    bundles.get(key) ?? bundleWorkflowCode({ workflowsPath, plugins: plugin ? [plugin] : [], logger });
  bundles.set(key, made);
  return made;
}

interface Deploy {
  gate?: Record<string, ActivityGate>;
  options?: Partial<PluginOptions>;
  /** The workflows and the activities have this. @default both have the plugin */
  isHalf?: boolean;
}

/** A worker with a journal of its own. Without `gate` it has no plugin. */
async function deploy(
  taskQueue: string,
  { gate, options, isHalf }: Deploy = {},
): Promise<() => Promise<void>> {
  const plugin = gate && pluginWith(gate, options);
  const workflowBundle =
    isHalf === true ? await bundleOf(undefined, []) : await bundleOf(plugin, Object.keys(gate ?? {}));
  const common = { connection: native, taskQueue, ...WITHOUT_THREADS, maxCachedWorkflows: 0 };
  const plugins = plugin ? [plugin] : [];
  const workers =
    isHalf === true
      ? [
          await Worker.create({ ...common, workflowBundle, activities: {} }),
          await Worker.create({ ...common, activities, plugins }),
        ]
      : [await Worker.create({ ...common, workflowBundle, activities, plugins })];
  const ran = Promise.all(workers.map((worker) => worker.run()));
  const stop = async (): Promise<void> => {
    running.delete(stop);
    for (const worker of workers) worker.shutdown();
    await ran;
  };
  running.add(stop);
  return stop;
}

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger });
  native = await NativeConnection.connect({ address: testAddress() });
  connection = await testConnection();
  client = new Client({ connection });
  countersign = await connect({ client });
});

afterAll(async () => {
  release();
  await Promise.all([...running].map((stop) => stop()));
  await native.close();
  await connection.close();
  rmSync(directory, { recursive: true, force: true });
});

const newQueue = (): string => `deploys-${randomUUID()}`;
const newOrder = (what = 'order'): string => `${what}-${randomUUID()}`;

/** The handle follows the runs that resets make. */
async function start(taskQueue: string, order: string, ...names: string[]): Promise<WorkflowHandle> {
  const workflowId = order;
  await client.workflow.start('obeys', { args: [order], taskQueue, workflowId });
  const handle = client.workflow.getHandle(workflowId);
  for (const name of names) await handle.signal('go', name);
  return handle;
}

const requestOf = ({ workflowId }: WorkflowHandle, callId: string) =>
  until(`${callId} to wait`, async () =>
    (await countersign.view(workflowId)).requests.find((one) => one.callId === callId),
  );
const approve = async (handle: WorkflowHandle, callId: string): Promise<void> => {
  await requestOf(handle, callId);
  await countersign.decide(handle.workflowId, { callId, decision: 'approved', approver: 'ann' });
};
const doubtOf = ({ workflowId }: WorkflowHandle) =>
  until('a call in doubt', async () =>
    (await countersign.view(workflowId)).calls.find(({ phase }) => phase === 'in_doubt'),
  );
const paidTimes = (order: string, count: number) =>
  until(`${order} to be paid ${count} times`, async () => times(order) === count);

/** Replays a history as a worker with these names does. */
async function replay(handle: WorkflowHandle, gate: Record<string, ActivityGate>): Promise<void> {
  const plugin = pluginWith(gate);
  const workflowBundle = await bundleOf(plugin, Object.keys(gate));
  await Worker.runReplayHistory({ workflowBundle, plugins: [plugin] }, await handle.fetchHistory());
}

const both = { refund: { parameters }, wire: { parameters } };

it('a run from before the plugin asks from its next call on, and each later deploy replays it', async () => {
  const queue = newQueue();
  const order = newOrder();
  const before = await deploy(queue);
  const handle = await start(queue, order, 'refund', 'wire');
  await paidTimes(order, 2);
  await before();
  await replay(handle, both);
  const first = await deploy(queue, { gate: { refund: { parameters } } });
  await handle.signal('go', 'refund');
  await requestOf(handle, '1.1');
  await first();
  const second = await deploy(queue, { gate: both });
  await approve(handle, '1.1');
  await handle.signal('go', 'wire');
  await approve(handle, '1.2');
  await paidTimes(order, 4);
  await second();
  const third = await deploy(queue, {
    gate: { refund: { parameters, safety: 'safe' }, wire: { parameters } },
  });
  await handle.signal('go', 'refund');
  await handle.signal('go', 'end');
  expect(await handle.result()).toEqual([1, 2, 3, 4, 5].map((n) => `paid ${n}`));
  await third();
  await replay(handle, both);
  await expect(replay(handle, { wire: { parameters } })).rejects.toThrow(/TMPRL1100|[Nn]ondeterminism/);
});

it('before a time of the options, a call runs of a workflow that did not ask; after it, none does', async () => {
  const queue = newQueue();
  const [order, other] = [newOrder(), newOrder()];
  const open = await deploy(queue, { gate: both, options: { before: '2999-01-01T00:00:00Z' }, isHalf: true });
  const handle = await start(queue, order, 'refund', 'end');
  expect(await handle.result()).toEqual(['paid 1']);
  await open();
  await deploy(queue, { gate: both, options: { before: '2020-01-01T00:00:00Z' }, isHalf: true });
  const late = await start(queue, other, 'refund', 'end');
  expect(await late.result()).toEqual([expect.stringContaining('the workflow did not ask')]);
  expect(times(other)).toBe(0);
});

/** The event that completed the task which scheduled an activity; `temporal` resets to it. */
async function taskBefore(handle: WorkflowHandle, activityId: string) {
  const { runId } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const attributes = events
    ?.map(({ activityTaskScheduledEventAttributes: of }) => of)
    .find((of) => of?.activityId === activityId);
  const eventId = Number(attributes?.workflowTaskCompletedEventId);
  return { workflowId: handle.workflowId, runId, eventId };
}

describe('a reset, seen from a machine without the journal,', () => {
  const ran = async () => {
    const queue = newQueue();
    const order = newOrder();
    const stop = await deploy(queue, { gate: both });
    const handle = await start(queue, order, 'refund');
    await approve(handle, '1.1');
    await paidTimes(order, 1);
    await until('the end of the call', async () => {
      const [call] = (await countersign.view(order)).calls;
      return call?.phase === 'done';
    });
    await stop();
    return { queue, order, handle };
  };

  it('to the task of the decision runs nothing before a person has looked again', async () => {
    const { queue, order, handle } = await ran();
    await resetRun(client, { ...(await taskBefore(handle, 'call-1.1-0')), isBare: true });
    await deploy(queue, { gate: both });
    await requestOf(handle, '1.1');
    expect(times(order)).toBe(1);
  });

  it('to before the request asks anew', async () => {
    const { queue, order, handle } = await ran();
    await resetRun(client, { ...(await taskBefore(handle, 'prepare-1.1')), isBare: false });
    await deploy(queue, { gate: both });
    await requestOf(handle, '1.1');
    expect(times(order)).toBe(1);
    await approve(handle, '1.1');
    await paidTimes(order, 2);
  });
});

/** The events that completed the workflow tasks of a history. */
async function tasksOf(handle: WorkflowHandle): Promise<number[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ eventId, workflowTaskCompletedEventAttributes: done }) =>
    done ? [Number(eventId)] : [],
  );
}

/** Waits until nothing is under way in the current run: it asks, is in doubt, or has heard of nothing yet. */
const quiet = ({ workflowId }: WorkflowHandle) =>
  until('nothing to be under way', async () => {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    return raw.pendingWorkflowTask == null && (raw.pendingActivities ?? []).length === 0;
  });

it.each([
  ['the machine that ran them', true],
  ['a machine without its journal', false],
])(
  'a reset to any task starts no call again without a person, on %s',
  async (_, isSame) => {
    const gate = { refund: { parameters }, wire: { parameters, effect: 'idempotent' } } as const;
    const queue = newQueue();
    const order = newOrder();
    const stop = await deploy(queue, { gate });
    const handle = await start(queue, order, 'refund', 'wire');
    await approve(handle, '1.1');
    await approve(handle, '1.2');
    await paidTimes(order, 2);
    await quiet(handle);
    const { runId } = await handle.describe();
    const tasks = await tasksOf(handle);
    expect(tasks.length).toBeGreaterThan(4);
    if (!isSame) {
      await stop();
      await deploy(queue, { gate });
    }
    for (const eventId of tasks)
      for (const isBare of [true, false]) {
        await resetRun(client, { workflowId: order, runId, eventId, isBare });
        await quiet(handle);
        expect({ eventId, isBare, times: times(order) }).toEqual({ eventId, isBare, times: 2 });
      }
    await handle.terminate();
  },
  120_000,
);

it('a call whose attempt an operator resets is in doubt, and does not run again', async () => {
  const queue = newQueue();
  const order = newOrder('lost');
  await deploy(queue, { gate: both });
  const handle = await start(queue, order, 'refund');
  await approve(handle, '1.1');
  await paidTimes(order, 1);
  await onCall(client.workflow.getHandle(order), 'reset');
  await doubtOf(handle);
  expect(times(order)).toBe(1);
  await countersign.resolve(order, { callId: '1.1', resolution: 'run-again', approver: 'bob' });
  await paidTimes(order, 2);
});
