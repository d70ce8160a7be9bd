import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { defineAgent } from '../../src/tools/define-agent';
import { endTyped, typed, type Typed } from '../cli/typed';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { startFixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { startOwnServer } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
afterAll(endTyped);

/** A server that may go away, a turn that waits there with one request, and somebody who reviews it. */
interface Place {
  turn: string;
  client: Countersign;
  terminal: Typed;
  crash(): Promise<void>;
  /** Starts the server again, on the same port and data. */
  restart(): Promise<void>;
}

/** Each test waits long for its server, so both run side by side. */
const awayFrom = (run: (place: Place) => Promise<void>) => async (): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-away-'));
  const dbFile = join(directory, 'temporal.db');
  let server: RunningServer = await startOwnServer({ dbFile });
  const { address } = server;
  const client = await connect({ address });
  const crash = async (): Promise<void> => {
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
  };
  const restart = async (): Promise<void> => {
    server = await startOwnServer({ dbFile, port: Number(address.split(':')[1]) });
  };
  try {
    const { turn, stop } = await waiting(client, address);
    const env = { PATH: process.env['PATH'], TEMPORAL_ADDRESS: address };
    await run({ turn, client, terminal: typed(['review', '--as', 'ann'], env), crash, restart });
    await stop();
  } finally {
    await client.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
};

/** A turn that waits, and its worker. */
const waiting = async (client: Countersign, address: string) => {
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA });
  const agents = [defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [pay] })];
  const { taskQueue, stop } = await startFixture({ address, agents });
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'x' } }] }, readBack);
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue });
  await until('it in the inbox', async () => (await client.inbox()).length === 1);
  return { turn, stop };
};

it.concurrent(
  'keeps what was typed while the server is away, and sends it once when it is back',
  awayFrom(async ({ turn, client, terminal, crash, restart }) => {
    await terminal.answer('Your decision', 'd');
    await terminal.sees('Why not? The model reads it: ');
    await crash();
    await terminal.answer('Why not? The model reads it: ', 'too much');
    await terminal.sees('the server does not answer; trying again (Ctrl-C leaves)');
    await restart();
    // Recorded by signal, where its worker is not back yet.
    await terminal.sees(/1\.1 (denied by ann|recorded; it takes effect)/);
    expect(await terminal.ended).toBe(0);
    const { calls } = await until('the end', async () => {
      const view = await client.view(turn);
      return view.status === 'answered' ? view : undefined;
    });
    expect(calls[0]?.decisions).toEqual([
      expect.objectContaining({ decision: 'denied', reason: 'too much' }),
    ]);
  }),
);

it.concurrent(
  'is left by Ctrl-C while the server is away',
  awayFrom(async ({ terminal, crash }) => {
    await terminal.sees('Your decision');
    await crash();
    await terminal.answer('Your decision', 'n');
    await terminal.sees('the server does not answer; trying again (Ctrl-C leaves)');
    terminal.type('\x03');
    expect(await terminal.ended).toBe(130);
  }),
);
