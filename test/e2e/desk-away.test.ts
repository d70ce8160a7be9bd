import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine';
import { defineAgent } from '../../src/tools/define-agent';
import { endTyped, typed } from '../cli/typed';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { startOwnServer } from '../support/server';
import { startBench, until, type TestBench } from '../support/worker';

jest.setTimeout(120_000);

const directory = scratchDirectory();
const effects = useEffects();
const book = scriptBook();
let server: RunningServer;
let bench: TestBench;
let starter: Countersign;

const dbFile = (): string => join(directory(), 'temporal.db');

beforeEach(async () => {
  server = await startOwnServer({ dbFile: dbFile() });
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA });
  const agents = [defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [pay] })];
  bench = await startBench({ address: server.address, agents });
  starter = await connect({ address: server.address });
});
afterEach(async () => {
  endTyped();
  await starter.close();
  await bench.stop();
  await server.stop();
});

const waiting = async (): Promise<string> => {
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'x' } }] }, readBack);
  const { turn } = await starter.start({ agent: 'clerk', prompt, taskQueue: bench.taskQueue });
  await until('it in the inbox', async () => (await starter.inbox()).length === 1);
  return turn;
};
const crash = async (): Promise<void> => {
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
};
const review = () =>
  typed(['review', '--as', 'ann'], { PATH: process.env['PATH'], TEMPORAL_ADDRESS: server.address });

it('keeps what was typed while the server is away, and sends it once when it is back', async () => {
  const turn = await waiting();
  const desk = review();
  await desk.answer('Your decision', 'd');
  await desk.sees('Why not? The model reads it: ');
  await crash();
  await desk.answer('Why not? The model reads it: ', 'too much');
  await desk.sees('the server does not answer; trying again (Ctrl-C leaves)');
  server = await startOwnServer({ dbFile: dbFile(), port: Number(server.address.split(':')[1]) });
  // Recorded by signal, where its worker is not back yet.
  await desk.sees(/1\.1 (denied by ann|recorded; it takes effect)/);
  expect(await desk.ended).toBe(0);
  const { calls } = await until('the end', async () => {
    const view = await starter.view(turn);
    return view.status === 'answered' ? view : undefined;
  });
  expect(calls[0]?.decisions).toEqual([expect.objectContaining({ decision: 'denied', reason: 'too much' })]);
});

it('is left by Ctrl-C while the server is away', async () => {
  await waiting();
  const desk = review();
  await desk.sees('Your decision');
  await crash();
  await desk.answer('Your decision', 'n');
  await desk.sees('the server does not answer; trying again (Ctrl-C leaves)');
  desk.type('\x03');
  expect(await desk.ended).toBe(130);
});
