import { isDeepStrictEqual } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { connect, type Countersign } from '../../src/client';
import { makeRetries } from '../../src/client/retries';
import type { TurnEvent } from '../../src/history/events';
import { viewOf } from '../../src/history/view';
import { runCli } from '../cli/run-cli';
import { eventsIn, createTestApp } from '../server/support';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { scratchDirectory } from '../support/scratch';
import { testAddress } from '../support/server';
import { decide, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const KIB = 1024;
/** The SDK alone asks ten times, over 40 seconds, for each page that is too large. Each history here has three or more. */
const TRIES = 20;

const directory = scratchDirectory();
const agent = useAgent('large', (effects) => [
  recordTool(effects, { name: 'page', outputLimit: 64 * KIB }, () => 'x'.repeat(64 * KIB)),
  recordTool(effects, { name: 'dump', outputLimit: 1024 * KIB }, () => 'y'.repeat(1024 * KIB)),
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
]);
const call = (name: string) => ({ name, arguments: { tag: name } });

/** As an application has it that knows nothing of the limit: 4 MiB a message. */
let connection: Connection;
let plain: Countersign;
let tooLarge = 0;

beforeAll(async () => {
  const noted = makeRetries((details) => {
    if (/larger than max/.test(details)) tooLarge += 1;
    return true;
  });
  connection = await Connection.connect({ address: testAddress(), interceptors: [noted] });
  plain = await connect({ client: new Client({ connection }) });
});
afterAll(() => connection.close());

/** Of the readings here, no two go on at the same time. */
const quickly = async <T>(reading: Promise<T>): Promise<T> => {
  const before = tooLarge;
  const read = await reading;
  expect(tooLarge - before).toBeLessThan(TRIES);
  return read;
};

/** Reads a turn in every way, and returns its events. */
async function readEverywhere(client: Countersign, turn: string): Promise<TurnEvent[]> {
  const events = await quickly(client.timeline(turn));
  expect(isSame(await quickly(client.view(turn)), viewOf(events))).toBe(true);
  const [run] = await quickly(client.histories(turn));
  expect(run?.events?.map(({ eventId }) => Number(eventId))).toEqual(
    Array.from({ length: run?.events?.length ?? 0 }, (_, index) => index + 1),
  );
  expect(differing(await quickly(followed(client, turn, events.length)), events)).toEqual([]);
  await page(client, turn, events);
  return events;
}

/** The events that were not read as they are, by number and type: a failed comparison prints no megabytes. */
function differing(read: readonly unknown[], events: readonly TurnEvent[]): string[] {
  expect(read.length).toBe(events.length);
  return events
    .filter((event, index) => !isSame(read[index], event))
    .map(({ eventId, type }) => `${eventId} ${type}`);
}

const isSame = (one: unknown, other: unknown): boolean => isDeepStrictEqual(plainJson(one), plainJson(other));

const plainJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

async function followed(client: Countersign, turn: string, count: number): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  const enough = new AbortController();
  for await (const event of client.follow(turn, { signal: enough.signal }))
    if (events.push(event) === count) enough.abort();
  return events;
}

/** The page reads a turn at once, and follows it. */
async function page(client: Countersign, turn: string, events: TurnEvent[]): Promise<void> {
  const app = await createTestApp(client);
  try {
    const cookie = await app.signIn();
    const answer = await quickly(app.ask(`/api/turns/${turn}`, { cookie }));
    const { events: shown } = z.object({ events: z.array(z.unknown()) }).parse(await answer.json());
    expect(differing(shown, events)).toEqual([]);
    let told = 0;
    for await (const { event } of eventsIn(await app.ask(`/api/turns/${turn}/events`, { cookie }))) {
      expect(event).not.toBe('trouble');
      if (event === 'turn' && ++told === events.length) break;
    }
  } finally {
    app.close();
    await app.remove();
  }
}

const cli = async (...args: string[]): Promise<string> => {
  const env = { TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: directory() };
  const { code, out, err } = await quickly(runCli(args, { env, cwd: directory() }));
  expect(code === 0 ? '' : `${code} ${args.join(' ')}: ${err.slice(0, 500)}`).toBe('');
  return out;
};

const mebibytes = async (turn: string): Promise<number> => {
  const runs = await agent.client().histories(turn);
  const { History } = temporal.api.history.v1;
  return runs.reduce((bytes, run) => bytes + History.encode(run).finish().length, 0) / KIB / KIB;
};

test('64 outputs of 64 KiB in one step', async () => {
  const prompt = agent.book.add(
    { toolCalls: Array.from({ length: 64 }, () => call('page')) },
    { text: 'done' },
  );
  const { turn } = await agent
    .client()
    .start({ agent: 'large', prompt, taskQueue: agent.fixture().taskQueue });
  await until('its end', async () => (await agent.client().view(turn)).endedAt !== null);
  expect(await mebibytes(turn)).toBeGreaterThan(4);
  for (const client of [agent.client(), plain]) {
    const events = await readEverywhere(client, turn);
    expect(events.filter(({ type }) => type === 'call_ended')).toHaveLength(64);
  }
  expect(await cli('show', turn)).toContain('64');
});

test('signals of 1.9 MB while a call waits, and then it is approved', async () => {
  const handle = await agent.start([{ toolCalls: [call('pay')] }]);
  for (let n = 0; n < 3; n++)
    await handle.signal('approval', { callId: '1.1', decision: 'denied', reason: 'z'.repeat(1_900_000) });
  const turn = handle.workflowId;
  await until('their refusal', async () => (await verdictsOf(handle)).length === 3);
  expect(await mebibytes(turn)).toBeGreaterThan(5.4);
  await plain.decide(turn, { callId: '1.1', decision: 'approved', approver: 'ann' });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const events = await readEverywhere(plain, turn);
  expect(events.filter(({ type }) => type === 'decision')).toHaveLength(4);
  expect(viewOf(events).calls[0]).toMatchObject({ result: { success: true } });
});

describe('outputs of 1 MiB before a dangerous call', () => {
  const steps = [
    ...Array.from({ length: 6 }, () => ({ toolCalls: [call('dump')] })),
    { toolCalls: [call('pay')] },
  ];

  test('it can be seen and decided', async () => {
    const { workflowId: turn } = await agent.start(steps, '7.1');
    expect(await mebibytes(turn)).toBeGreaterThan(6);
    expect((await quickly(plain.view(turn))).requests).toMatchObject([{ callId: '7.1' }]);
    await plain.decide(turn, { callId: '7.1', decision: 'denied', approver: 'ann' });
    await until('its end', async () => (await plain.view(turn)).endedAt !== null);
    await readEverywhere(plain, turn);
  });

  test('the terminal shows, tells, exports and audits it', async () => {
    const handle = await agent.start(steps, '7.1');
    const turn = handle.workflowId;
    expect(await cli('show', `${turn}/7.1`)).toContain('pay');
    await decide(handle, { callId: '7.1', decision: 'approved', approver: 'ann' });
    await handle.result();
    expect(await cli('show', turn)).toMatch(/pay[^]*ann/);
    await cli('export', turn, '--out', 'turn.json');
    await cli('audit', 'keys', 'audit.key');
    await cli('audit', 'export', '--turn', turn, '--key', 'audit.key');
    expect(await agent.effects.lines('pay')).not.toEqual([]);
  });
});

test('a live reader keeps up with large messages that come while it looks', async () => {
  const handle = await agent.start([{ toolCalls: [call('pay')] }]);
  await waitFor(handle, '1.1');
  const types: string[] = [];
  const following = (async () => {
    for await (const { type } of plain.follow(handle.workflowId)) {
      types.push(type);
      // A reader that is slower than what comes.
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  })();
  await until('the request', () => types.includes('request_opened'));
  for (let n = 0; n < 4; n++)
    await handle.signal('approval', { callId: '1.1', reason: 'z'.repeat(1_900_000) });
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await quickly(following);
  expect(types.filter((type) => type === 'signal_recorded')).toHaveLength(4);
  expect(types.at(-1)).toBe('turn_ended');
});
