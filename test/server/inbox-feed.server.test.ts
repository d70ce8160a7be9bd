import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Countersign } from '../../src/client';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import type { RunningServer } from '../../src/engine/server-launch';
import { ensureAttributes } from '../../src/engine/search-attributes';
import type { InboxPage } from '../../src/server/api';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy';
import { startOwnServer } from '../support/server';
import { createTestApp, eventsIn, testClient } from './support';
import { until } from '../support/until';

/** More than two pages of a list, on a server of their own: they would crowd the inbox of every other test. */
const TURNS = Number(process.env['WAITING'] ?? 2_300);
const AT_ONCE = 30;
const FIRST = Date.parse('2030-01-01T00:00:00Z');

const KEYS = {
  pending: defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT),
  agent: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD),
  tools: defineSearchAttributeKey(SEARCH_ATTRIBUTES.tools, SearchAttributeType.KEYWORD_LIST),
  deadline: defineSearchAttributeKey(SEARCH_ATTRIBUTES.deadline, SearchAttributeType.DATETIME),
};

let server: RunningServer;
let connection: Connection;
let countersign: Countersign;
let proxy: FaultProxy;

beforeAll(async () => {
  server = await startOwnServer();
  connection = await Connection.connect({ address: server.address });
  await ensureAttributes({ connection, namespace: 'default' });
  proxy = await startFaultProxy(server.address);
  countersign = await testClient(proxy.address);
  const client = new Client({ connection });
  const places = Array.from({ length: TURNS }, (_, place) => place);
  for (let from = 0; from < TURNS; from += AT_ONCE)
    await Promise.all(places.slice(from, from + AT_ONCE).map((place) => startWaiting(client, place)));
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

/** A turn that nobody works on, as visibility shows one that waits; every tenth waits with two calls, later ones expire sooner. */
async function startWaiting(client: Client, place: number): Promise<void> {
  const count = place % 10 === 0 ? 2 : 1;
  const deadline = new Date(FIRST + (TURNS - place) * 60_000);
  const items = Array.from({ length: count }, (_, at) => ({
    ...{
      callId: `1.${at + 1}`,
      kind: 'request',
      tool: 'pay',
      summary: 'pay',
      since: new Date(FIRST).toISOString(),
    },
    deadline: deadline.toISOString(),
  }));
  await client.workflow.start('agentTurn', {
    taskQueue: 'nobody-works-here',
    workflowId: `waits-${String(place).padStart(5, '0')}`,
    memo: { prompt: 'pay', open: { key: 'k', count, items } },
    typedSearchAttributes: [
      { key: KEYS.pending, value: count },
      { key: KEYS.agent, value: place < 5 ? 'rare' : 'payer' },
      { key: KEYS.tools, value: ['pay'] },
      { key: KEYS.deadline, value: deadline },
    ],
  });
}

const VISIBILITY = /^(List|Count|Scan)WorkflowExecutions$|^ListWorkers$|^DescribeTaskQueue$/;

/** The most calls to visibility within any second. */
const mostASecond = (from: number): number => {
  const times = proxy.calls
    .filter(({ method, at }) => VISIBILITY.test(method) && at >= from)
    .map(({ at }) => at);
  return Math.max(0, ...times.map((end) => times.filter((at) => at > end - 990 && at <= end).length));
};

it('reads all of it, the most urgent first, and counts every call of every turn', async () => {
  const items = await countersign.inbox({ limit: Infinity });
  expect(items).toHaveLength(TURNS + TURNS / 10);
  const deadlines = items.map(({ deadline }) => deadline ?? '');
  expect(deadlines).toEqual([...deadlines].sort());
  expect(items[0]?.turn).toBe(`waits-${String(TURNS - 1).padStart(5, '0')}`);
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
  const waits = (place: number): string => `waits-${String(place).padStart(5, '0')}`;
  const { workflow } = new Client({ connection });
  await Promise.all([7, TURNS - 2].map((place) => workflow.getHandle(waits(place)).terminate()));
  await startWaiting(new Client({ connection }), TURNS);
  await until('the new one', async () => (await read(`text=${waits(TURNS)}`)).matching > 0, 60);
  for (const place of [7, TURNS - 2])
    await until(`the end of ${place}`, async () => (await read(`text=${waits(place)}`)).matching === 0, 120);
  await until('more of it', () => performance.now() - from > took + 5_000);
  const { calls } = proxy;
  const asked = calls.filter(({ method, at }) => VISIBILITY.test(method) && at >= from).length;
  const seconds = (performance.now() - from) / 1000;
  if (process.env['WAITING'] !== undefined)
    process.stderr.write(
      `${JSON.stringify({ took, first: first.ms, filtered: filtered.ms, asked, seconds, most: mostASecond(from) })}\n`,
    );
  expect(asked / seconds).toBeLessThanOrEqual(2.1);
  expect(mostASecond(from)).toBeLessThanOrEqual(2);
  app.close();
  await Promise.all(streams.map((stream) => stream.return(undefined)));
  await app.remove();
  await client.close();
}, 300_000);

async function timed(read: () => Promise<InboxPage>): Promise<{ page: InboxPage; ms: number }> {
  const began = performance.now();
  const page = await read();
  return { page, ms: performance.now() - began };
}
