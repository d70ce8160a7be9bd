import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { z } from 'zod';
import { type Approvers, parseApprovers } from '../../src/authority/rules/approvers-file';
import type { Countersign } from '../../src/client';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import { startOf } from '../../src/contract/turn';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { createTestApp, testClient } from './support';

const RUN = `mine-${Date.now().toString(36)}`;
const PENDING = defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT);
const needs = { approvals: 1, who: [] };
const among = (roster: string[]) => ({ votes: [], needs, among: { rosters: [roster] } });

/** What waits, by the name of its turn; nobody works on these. */
const WAITING: Readonly<Record<string, object>> = {
  anyone: {},
  ann: { voting: among(['ann']) },
  money: { voting: among(['group:money']) },
  voted: { voting: { ...among(['ann', 'bob']), votes: [{ voter: 'ann', decision: 'approved' }] } },
};

const fileOf = (people: string): Approvers =>
  parseApprovers(
    `installation: 0123456789abcdef0123456789abcdef\npeople: ${people}\nrules: [{ name: default, then: by_safety }]`,
    'a.yaml',
  );
const FILE = fileOf('{ ann: { mail: ann@example.org }, bob: { groups: [money] } }');

let client: Countersign;
let app: Awaited<ReturnType<typeof createTestApp>>;
let file = FILE;
const tokens = new Map<string, string>();

beforeAll(async () => {
  client = await testClient(testAddress());
  app = await createTestApp(client, { voters: async () => file });
  for (const name of ['ann', 'ANN@example.org', 'bob', 'eve'])
    tokens.set(name, await app.users.add(name, []));
  for (const [name, more] of Object.entries(WAITING)) {
    const input = { agent: RUN, prompt: name };
    const { typedSearchAttributes, memo, ...head } = startOf(input, name);
    const times = { since: new Date().toISOString(), deadline: null };
    const item = { ...{ callId: '1.1', kind: 'request', tool: 'pay', summary: name }, ...times, ...more };
    await client.client.workflow.start('agentTurn', {
      ...head,
      ...{ taskQueue: 'nobody-works-here', workflowId: `${RUN}-${name}`, args: [input] },
      memo: { ...memo, open: { key: 'k', count: 1, items: [item] } },
      typedSearchAttributes: [
        ...typedSearchAttributes.filter(({ key }) => key.name !== PENDING.name),
        { key: PENDING, value: 1 },
      ],
    });
  }
  await until('all are listed', async () => (await listed('ann', '')).length === 4);
});
beforeEach(() => {
  file = FILE;
});
afterAll(async () => {
  app.close();
  await app.remove();
  for (const name of Object.keys(WAITING))
    await client.client.workflow.getHandle(`${RUN}-${name}`).terminate('over');
  await client.close();
});

const ask = (name: string, query: string): Promise<Response> =>
  app.ask(`/api/inbox?agent=${RUN}${query}`, {
    headers: { authorization: `Bearer ${tokens.get(name) ?? ''}` },
  });
const pages = z.looseObject({ rows: z.array(z.looseObject({ turn: z.string() })) });
const listed = async (name: string, query: string): Promise<string[]> => {
  const { rows } = pages.parse(await (await ask(name, query)).json());
  return rows.map(({ turn }) => turn.slice(RUN.length + 1)).sort();
};

it.each([
  ['ann', ['ann', 'anyone']],
  ['ANN@example.org', ['ann', 'anyone']],
  ['bob', ['anyone', 'money', 'voted']],
  ['eve', ['anyone']],
])('lists what waits for %s alone: %j', async (name, expected) => {
  expect(await listed(name, '&mine=1')).toEqual(expected);
  expect(await listed(name, '')).toEqual(Object.keys(WAITING).sort());
});

it('follows the groups of the file of the day', async () => {
  file = fileOf('{ ann: { groups: [money] }, bob: {} }');
  expect(await listed('ann', '&mine=1')).toEqual(['ann', 'anyone', 'money']);
  expect(await listed('bob', '&mine=1')).toEqual(['anyone', 'voted']);
});

it.each(['0', 'true', 'bob', ''])('refuses mine=%s, and lists for nobody else', async (value) => {
  expect((await ask('ann', `&mine=${value}`)).status).toBe(400);
});
