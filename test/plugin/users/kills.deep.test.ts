import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../../src/client';
import { CountersignPlugin } from '../../../src/plugin';
import { type ProcessWorker, spawnWorker } from '../../support/process-worker';
import { startOwnServer } from '../../support/server';
import { until } from '../../support/until';

/** Workers of a user, and the one that keeps the pauses, are killed while 50 calls wait, are decided and run. */
const taskQueue = 'kills';
const folder = mkdtempSync(join(tmpdir(), 'countersign-kills-'));
const codePath = join(folder, 'bundle.js');
const effects = join(folder, 'effects');
const stateDir = join(folder, 'state');
const args = { args: ['order'], parameters: z.object({ order: z.string() }) };
const plugin = new CountersignPlugin({ gate: { pay: args, tell: args }, stateDir });
const orders = Array.from({ length: 50 }, (_, at) => `order-${String(at).padStart(2, '0')}`);
/** Most of what the test may take: a machine may be busy. */
const LONG_S = 580;
const isDenied = (order: string): boolean => Number(order.slice(-2)) % 5 === 4;

let server: Awaited<ReturnType<typeof startOwnServer>>;
let countersign: Countersign;
const killers: (() => Promise<void>)[] = [];

/** What happened outside of the workers. */
const happened = (order = ''): string[] =>
  readFileSync(effects, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(order) && line !== '');

/** Starts a worker of the user; resolves when it works. Returns how to kill it. */
async function startUser(): Promise<() => Promise<void>> {
  const KILLED = JSON.stringify({ address: server.address, taskQueue, stateDir, codePath, effects });
  const program = join(__dirname, '..', '..', 'fixtures', 'plugin-users', 'killed.cjs');
  const child = fork(program, { env: { ...process.env, KILLED }, execArgv: [], stdio: 'inherit' });
  const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  killers.push(kill);
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', () => reject(new Error('the worker ended before it was ready')));
  });
  return kill;
}

/** Starts the worker of turns, which runs the workflow that keeps the pauses. */
async function startControl(): Promise<ProcessWorker> {
  const place = { address: server.address, taskQueue: 'turns', stateDir, directory: folder };
  const worker = spawnWorker({ ...place, maxCachedWorkflows: 0 });
  killers.push(worker.kill);
  await worker.ready;
  return worker;
}

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  writeFileSync(effects, '');
  server = await startOwnServer();
  countersign = await connect({ address: server.address });
  const workflowsPath = require.resolve('../../fixtures/plugin-users/pays-often.ts');
  const logger = new DefaultLogger('ERROR');
  const { code } = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger });
  writeFileSync(codePath, code);
}, 60_000);

afterAll(async () => {
  await Promise.all(killers.map((kill) => kill()));
  await countersign.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

it('50 calls at once all end; none runs undecided, and no unsafe one twice, though workers are killed', async () => {
  const [control, first] = await Promise.all([startControl(), startUser()]);
  let kill = first;
  const { client } = countersign;
  const handle = await client.workflow.start('paysOften', {
    ...{ args: [orders], taskQueue, workflowId: 'often' },
  });
  // One worker dies while calls are prepared, the next ones while calls are decided and run.
  await until('a call to be asked about', async () => (await view()).requests.length > 0);
  await kill();
  kill = await startUser();
  await until('half of the calls', async () => (await view()).calls.length >= 25);
  expect(happened()).toEqual([]);
  const decided = new Set<string>();
  const found = new Map<string, number>();
  let isOver = false;
  const over = handle.result().finally(() => (isOver = true));
  const people = (): Promise<boolean> =>
    until(
      'the end',
      async () => {
        const { requests, calls } = await view();
        for (const { callId, arguments: asked } of requests) {
          const order = String(asked['order']);
          decided.add(order);
          await say(() =>
            countersign.decide('often', {
              ...{ callId, approver: 'ann', decision: isDenied(order) ? 'denied' : 'approved' },
            }),
          );
        }
        for (const { callId, phase, arguments: asked } of calls) {
          if (phase !== 'in_doubt') continue;
          const order = String(asked['order']);
          const resolution = happened(order).length > 0 ? 'happened' : 'did-not';
          found.set(order, happened(order).length);
          await say(() =>
            countersign.resolve('often', {
              ...{ callId, resolution, approver: 'bob' },
              ...(resolution === 'happened' ? { content: `"found ${order}"` } : {}),
            }),
          );
        }
        return isOver;
      },
      LONG_S,
    );
  const killing = async (): Promise<void> => {
    for (const effect of [3, 9, 16, 24]) {
      await until(`${effect} effects`, () => isOver || happened().length >= effect, LONG_S);
      await kill();
      if (effect === 9) {
        await control.kill();
        await startControl();
      }
      kill = await startUser();
    }
  };
  const [said] = await Promise.all([over, people(), killing()]);
  expect(said).toHaveLength(50);
  for (const [at, order] of orders.entries()) {
    const times = happened(order).length;
    const expected = isDenied(order)
      ? { order, times: 0, said: 'countersign.denied' }
      : {
          order,
          times: at % 3 === 2 ? expect.any(Number) : (found.get(order) ?? 1),
          said: expect.stringMatching(/^(pay|tell|found) order|countersign\.transport/),
        };
    expect({ order, times, said: said[at] }).toEqual(expected);
    expect({ order, twice: at % 3 !== 2 && times > 1 }).toEqual({ order, twice: false });
  }
  expect(happened().every((line) => decided.has(line.split(' ')[1] ?? ''))).toBe(true);
  const workflowBundle = { codePath };
  await Worker.runReplayHistory({ workflowBundle, plugins: [plugin] }, await handle.fetchHistory());
}, 600_000);

const view = () => countersign.view('often');

/** A worker may die before it answers. What a person said is said again then. */
async function say(send: () => Promise<unknown>): Promise<void> {
  await send().catch(() => undefined);
}
