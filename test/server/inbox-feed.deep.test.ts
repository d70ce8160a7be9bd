import { Client, type Connection } from '@temporalio/client';
import type { Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { ensureAttributes } from '../../src/engine/search-attributes';
import type { InboxPage } from '../../src/server/api';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy';
import { startOwnServer, testConnection } from '../support/server';
import { createTestApp, eventsIn, testClient } from './support';
import { isVisibility, mostASecond, startWaiting, waitingId } from './waiting-turns';
import { until } from '../support/until';

/** More than two pages of a list, on a server of their own: they would crowd the inbox of every other test. */
const TURNS = Number(process.env['WAITING'] ?? 2_300);
const AT_ONCE = 30;
let server: RunningServer;
let connection: Connection;
let countersign: Countersign;
let proxy: FaultProxy;

beforeAll(async () => {
  server = await startOwnServer();
  connection = await testConnection(server.address);
  await ensureAttributes({ connection, namespace: 'default' });
  proxy = await startFaultProxy(server.address);
  countersign = await testClient(proxy.address);
  const client = new Client({ connection });
  const places = Array.from({ length: TURNS }, (_, place) => place);
  for (let from = 0; from < TURNS; from += AT_ONCE)
    await Promise.all(places.slice(from, from + AT_ONCE).map((place) => startWaiting(client, place, TURNS)));
  await until(
    'all of them to be listed',
    async () => (await countersign.countWaiting()) === TURNS + TURNS / 10,
  );
}, 600_000);

afterAll(async () => {
  await countersign.close();
  await connection.close();
  await proxy.stop();
  await server.stop();
});

it('reads all of it, the most urgent first, and counts every call of every turn', async () => {
  const items = await countersign.inbox({ limit: Infinity });
  expect(items).toHaveLength(TURNS + TURNS / 10);
  const deadlines = items.map(({ deadline }) => deadline ?? '');
  expect(deadlines).toEqual([...deadlines].sort());
  expect(items[0]?.turn).toBe(waitingId(TURNS - 1));
  expect(await countersign.countWaiting({ agent: 'rare' })).toBe(6);
  expect(await countersign.countWaiting({ tool: 'pay' })).toBe(items.length);
});

it('lets fifty pages look at all of it with two calls a second, and shows what changes', async () => {
  const client = await testClient(proxy.address);
  const app = await createTestApp(client);
  const cookie = await app.signIn();
  const from = performance.now();
  const streams = await Promise.all(
    Array.from({ length: 50 }, async () => eventsIn(await app.ask('/api/inbox/events', { cookie }))),
  );
  const read = async (query = ''): Promise<InboxPage> =>
    JSON.parse(await (await app.ask(`/api/inbox?${query}`, { cookie })).text());
  await Promise.all(streams.map((stream) => stream.next()));
  expect((await read()).complete).toBe(false);
  await until('all of it', async () => (await read()).complete, 60);
  const took = performance.now() - from;
  const [first, filtered] = [
    await timed(() => read()),
    await timed(() => read('agent=rare&text=waits-00002')),
  ];
  expect(filtered.page.rows.map(({ turn }) => turn)).toEqual(['waits-00002']);
  expect(first.page).toMatchObject({ waiting: TURNS + TURNS / 10, matching: TURNS + TURNS / 10 });
  expect(first.page.rows).toHaveLength(200);
  // Old turns and new ones: the first listed, the last one, and one that was decided here.
  const { workflow } = new Client({ connection });
  await Promise.all([7, TURNS - 2].map((place) => workflow.getHandle(waitingId(place)).terminate()));
  await startWaiting(new Client({ connection }), TURNS, TURNS);
  await until('the new one', async () => (await read(`text=${waitingId(TURNS)}`)).matching > 0, 60);
  for (const place of [7, TURNS - 2])
    await until(
      `the end of ${place}`,
      async () => (await read(`text=${waitingId(place)}`)).matching === 0,
      120,
    );
  await until('more of it', () => performance.now() - from > took + 5_000);
  const { calls } = proxy;
  const asked = calls.filter((call) => isVisibility(call) && call.at >= from).length;
  const seconds = (performance.now() - from) / 1000;
  if (process.env['WAITING'] !== undefined)
    process.stderr.write(
      `${JSON.stringify({ took, first: first.ms, filtered: filtered.ms, asked, seconds, most: mostASecond(proxy, from) })}\n`,
    );
  expect(asked / seconds).toBeLessThanOrEqual(2.1);
  expect(mostASecond(proxy, from)).toBeLessThanOrEqual(2);
  app.close();
  await Promise.all(streams.map((stream) => stream.return(undefined)));
  await app.remove();
  await client.close();
});

async function timed(read: () => Promise<InboxPage>): Promise<{ page: InboxPage; ms: number }> {
  const began = performance.now();
  const page = await read();
  return { page, ms: performance.now() - began };
}
