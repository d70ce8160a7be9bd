import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { connect, type Countersign } from '../../../src/client';
import { CountersignPlugin } from '../../../src/plugin';
import { runCli } from '../../cli/run-cli';
import { sawOf } from '../../cli/saw';
import type { Ended } from '../../cli/process';
import { startOwnServer } from '../../support/server';
import { until } from '../../support/until';

/** What each command says of a gated call of a workflow that is not a turn. */
const logger = new DefaultLogger('ERROR');
const taskQueue = `refunds-${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), 'countersign-commands-'));
const parameters = z.object({ order: z.string(), cents: z.int().positive() });
const plugin = new CountersignPlugin({
  gate: { refund: { parameters, preview: ({ cents }) => `Pay ${Number(cents) / 100} EUR back` } },
  stateDir: join(folder, 'state'),
});
const bundle = join(folder, 'bundle.js');

let server: Awaited<ReturnType<typeof startOwnServer>>;
let connection: NativeConnection;
let countersign: Countersign;
let worker: Worker;
let ran: Promise<void>;
let handle: WorkflowHandle;

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger });
  server = await startOwnServer();
  await cli('doctor', '--setup');
  connection = await NativeConnection.connect({ address: server.address });
  countersign = await connect({ address: server.address });
  const { code } = await bundleWorkflowCode({
    ...{ plugins: [plugin], logger },
    workflowsPath: require.resolve('../../fixtures/plugin-users/hand-written.ts'),
  });
  writeFileSync(bundle, code);
  worker = await Worker.create({
    ...{ connection, taskQueue, workflowBundle: { codePath: bundle }, plugins: [plugin] },
    activities: { refund: async ({ cents }: { cents: number }) => `paid ${cents}` },
  });
  ran = worker.run();
  handle = await countersign.client.workflow.start('refundOrder', {
    ...{ args: [{ order: 'A-1', cents: 90 }], taskQueue, workflowId: 'order-1' },
  });
  await until('the request', async () => (await countersign.inbox({})).length > 0);
}, 120_000);

afterAll(async () => {
  worker.shutdown();
  await ran;
  await countersign.close();
  await connection.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<Ended> =>
  runCli(args, { env: { TEMPORAL_ADDRESS: server.address, XDG_STATE_HOME: folder }, cwd: folder });
const said = async (...args: string[]): Promise<string> => {
  const { code, out, err } = await cli(...args);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return out;
};

describe('while a person is asked', () => {
  it.each<[string, string[], RegExp]>([
    ['list', [], /order-1 +waits for a person \(1\) +refundOrder/],
    ['list', ['--agent', 'refundOrder', '--state', 'waiting'], /order-1/],
    ['inbox', [], /order-1\/1\.1 +request +refundOrder .*refund/],
    ['show', ['order-1'], /agent +refundOrder[^]*1\.1 refund/],
    ['show', ['order-1/1.1'], /Pay 0\.9 EUR back[^]*cents +90/],
    ['doctor', [], /other workflows that gate calls +refundOrder on refunds-/],
  ])('%s %p tells of it', async (command, args, text) => {
    expect((await cli(command, ...args)).out).toMatch(text);
  });

  it('refuses an edit that does not fit, and leaves no event', async () => {
    const before = await length(handle);
    const saw = await sawOf(cli, 'order-1/1.1');
    const { code, err } = await cli('approve', 'order-1/1.1', ...saw, '--set', 'cents=-1');
    expect({ code, err }).toEqual({ code: expect.any(Number), err: expect.stringContaining('cents') });
    expect(code).not.toBe(0);
    expect(await length(handle)).toBe(before);
  });
});

describe('once somebody has edited it', () => {
  beforeAll(async () => {
    const edit = ['--set', 'cents=70', '--reason', 'less', '--as', 'ann'];
    const edited = await cli('approve', 'order-1/1.1', ...(await sawOf(cli, 'order-1/1.1')), ...edit);
    // A call with a preview is shown anew after an edit.
    expect(edited).toMatchObject({ code: 6, err: expect.stringContaining('which nobody approved yet') });
    await said('approve', 'order-1/1.1', ...(await sawOf(cli, 'order-1/1.1')), '--as', 'ann');
  });

  it('list, show and the page of past decisions have its end', async () => {
    expect(await handle.result()).toBe('paid 70');
    expect(await said('list', '--state', 'answered')).toMatch(/order-1 +answered +refundOrder/);
    expect(await said('show', 'order-1')).toMatch(
      /modified by ann[^]*less[^]*runs: refund order=A-1 cents=70/,
    );
    const call = (await countersign.view('order-1')).calls[0];
    expect(call).toMatchObject({ tool: 'refund', phase: 'done' });
    expect((await countersign.list({})).map(({ agent, facets }) => ({ agent, facets }))).toEqual([
      { agent: 'refundOrder', facets: ['edited'] },
    ]);
  });

  it('audit has the decision, the start and the outcome, and verifies', async () => {
    await said('audit', 'keys');
    await said('audit', 'export');
    const file = join(folder, 'countersign-audit.jsonl');
    const records = readFileSync(file, 'utf8').trim().split('\n');
    const types = records.map(
      (line) => z.looseObject({ type: z.string().optional() }).parse(JSON.parse(line)).type,
    );
    expect(types).toEqual(expect.arrayContaining(['request', 'decision', 'start', 'outcome']));
    await said('audit', 'verify', file);
  });

  it('replay takes the bundle of its worker', async () => {
    expect(await said('replay', 'order-1', '--workflows', bundle)).toMatch(/same|replays/);
  });

  it('stats and export count it', async () => {
    expect(await said('stats')).toMatch(/refund/);
    const exported = await said('export', 'order-1');
    expect(exported).toContain('countersign');
  });
});

const length = async (one: WorkflowHandle): Promise<number> => (await one.describe()).historyLength;
