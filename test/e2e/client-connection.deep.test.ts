import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import { startOwnServer, testAddress } from '../support/server';
import { until } from '../support/until';

let client: Countersign;

beforeAll(async () => {
  client = await connect({ address: testAddress() });
});

afterAll(() => client.close());

/** A turn that no worker takes. */
const start = async (): Promise<string> =>
  (await client.start({ agent: 'nobody', prompt: 'x', taskQueue: `nobody-${randomUUID()}` })).turn;

test.each([
  ['view', () => client.view('nobody-knows')],
  ['timeline', () => client.timeline('nobody-knows')],
  ['follow', () => client.follow('nobody-knows')[Symbol.asyncIterator]().next()],
  ['cancel', () => client.cancel('nobody-knows')],
  ['abandon', () => client.abandon('nobody-knows', {})],
  ['decide', () => client.decide('nobody-knows', { callId: '1.1', decision: 'denied' })],
  ['resolve', () => client.resolve('nobody-knows', { callId: '1.1', resolution: 'happened' })],
  ['pendingActivities', () => client.pendingActivities('nobody-knows')],
])('%s of a turn that is not there', async (_, act) => {
  await expect(act()).rejects.toMatchObject({ code: 'not_found' });
});

test('following ends when it is aborted', async () => {
  const turn = await start();
  const controller = new AbortController();
  const types: string[] = [];
  for await (const event of client.follow(turn, { signal: controller.signal })) {
    types.push(event.type);
    controller.abort();
  }
  expect(types).toEqual(['turn_started']);
});

test('nothing is lost or said twice when the server is killed and comes back', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-client-'));
  const dbFile = join(directory, 'server.db');
  const first = await startOwnServer({ dbFile });
  const port = Number(first.address.split(':').at(-1));
  const own = await connect({ address: first.address });
  const types: string[] = [];
  const { turn } = await own.start({ agent: 'nobody', prompt: 'x' });
  const following = (async () => {
    for await (const event of own.follow(turn)) types.push(event.type);
  })();
  await until('the first event', () => types.length === 1);
  await first.stop();
  const second = await startOwnServer({ dbFile, port });
  try {
    const handle = own.client.workflow.getHandle(turn);
    await handle.signal('approval', { callId: '1.1', decision: 'approved' });
    await until('the signal', () => types.length === 2);
    await handle.terminate('over');
    await following;
    expect(types).toEqual(['turn_started', 'signal_recorded', 'turn_ended']);
  } finally {
    await own.close();
    await second.stop();
    await rm(directory, { recursive: true, force: true });
  }
});

test('no server: said soon, with what to do', async () => {
  await expect(connect({ address: '127.0.0.1:1', timeoutMs: 500 })).rejects.toMatchObject({
    code: 'no_server',
    message: expect.stringContaining('127.0.0.1:1'),
    hint: expect.stringContaining('TEMPORAL_ADDRESS'),
  });
});
