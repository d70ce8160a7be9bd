import { Client, type Connection } from '@temporalio/client';
import type { Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { ensureAttributes } from '../../src/engine/search-attributes';
import type { InboxPage } from '../../src/server/api';
import { startOwnServer, testConnection } from '../support/server';
import { createTestApp, eventsIn, testClient } from './support';
import { startWaiting, waitingId } from './waiting-turns';
import { until } from '../support/until';

/** On a server of their own: they would crowd the inbox of every other test. */
const TURNS = 60;
let server: RunningServer;
let connection: Connection;
let countersign: Countersign;

beforeAll(async () => {
  server = await startOwnServer();
  connection = await testConnection(server.address);
  await ensureAttributes({ connection, namespace: 'default' });
  countersign = await testClient(server.address);
  const client = new Client({ connection });
  await Promise.all(Array.from({ length: TURNS }, (_, place) => startWaiting(client, place, TURNS)));
  await until(
    'all of them to be listed',
    async () => (await countersign.countWaiting()) === TURNS + TURNS / 10,
  );
});

afterAll(async () => {
  await countersign.close();
  await connection.close();
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

it('lets fifty pages look at all of it, and shows what changes', async () => {
  const client = await testClient(server.address);
  const app = await createTestApp(client);
  const cookie = await app.signIn();
  const streams = await Promise.all(
    Array.from({ length: 50 }, async () => eventsIn(await app.ask('/api/inbox/events', { cookie }))),
  );
  const read = async (query = ''): Promise<InboxPage> =>
    JSON.parse(await (await app.ask(`/api/inbox?${query}`, { cookie })).text());
  await Promise.all(streams.map((stream) => stream.next()));
  await until('all of it', async () => (await read()).complete, 60);
  const filtered = await read('agent=rare&text=waits-00002');
  expect(filtered.rows.map(({ turn }) => turn)).toEqual(['waits-00002']);
  expect(await read()).toMatchObject({ waiting: TURNS + TURNS / 10, matching: TURNS + TURNS / 10 });
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
  app.close();
  await Promise.all(streams.map((stream) => stream.return(undefined)));
  await app.remove();
  await client.close();
});
