import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Countersign } from '../../src/client';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import type { RunningServer } from '../../src/engine/server-launch';
import { ensureAttributes } from '../../src/engine/search-attributes';
import { readSnapshot } from '../../src/server/inbox-feed';
import { startOwnServer } from '../support/server';
import { testClient } from './support';
import { until } from '../support/until';

/** More than a snapshot holds, on a server of their own: they would crowd the inbox of every other test. */
const TURNS = 900;
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

beforeAll(async () => {
  server = await startOwnServer();
  connection = await Connection.connect({ address: server.address });
  await ensureAttributes({ connection, namespace: 'default' });
  countersign = await testClient(server.address);
  const client = new Client({ connection });
  const places = Array.from({ length: TURNS }, (_, place) => place);
  for (let from = 0; from < TURNS; from += AT_ONCE)
    await Promise.all(places.slice(from, from + AT_ONCE).map((place) => startWaiting(client, place)));
  await until(
    'all of them to be listed',
    async () => (await countersign.countWaiting()) === TURNS + TURNS / 10,
  );
}, 120_000);

afterAll(async () => {
  await countersign.close();
  await connection.close();
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

it('holds the first 500 by deadline, and counts every call of every turn', async () => {
  const { items, total } = await readSnapshot(countersign);
  expect(items).toHaveLength(500);
  const deadlines = items.map(({ deadline }) => deadline ?? '');
  expect(deadlines).toEqual([...deadlines].sort());
  expect(items[0]?.turn).toBe(`waits-${String(TURNS - 1).padStart(5, '0')}`);
  expect(total).toBe(TURNS + TURNS / 10);
  expect(Buffer.byteLength(JSON.stringify(items))).toBeLessThan(200_000);
});

it('finds by a filter what is not among the first', async () => {
  const { items, total } = await readSnapshot(countersign, { agent: 'rare' });
  expect(items.map(({ turn, callId }) => `${turn}/${callId}`)).toEqual([
    ...['waits-00004/1.1', 'waits-00003/1.1', 'waits-00002/1.1', 'waits-00001/1.1'],
    ...['waits-00000/1.1', 'waits-00000/1.2'],
  ]);
  expect(total).toBe(TURNS + TURNS / 10);
});
