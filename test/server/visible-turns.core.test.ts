import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import type { Countersign } from '../../src/client';
import type { Ancestor } from '../../src/contract/call';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import { startOf, type TurnInput } from '../../src/contract/turn';
import { needsOf, ROUTES } from '../../src/server/routes';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { createTestApp, eventsIn, testClient } from './support';

const RUN = `scoped-${Date.now().toString(36)}`;
const [SEEN, HIDDEN] = [`${RUN}-seen`, `${RUN}-hidden`];
/** Stands in all that is of the hidden agent. */
const WORD = `xyzzy${Date.now().toString(36)}`;
const id = (name: string): string => `${RUN}-${name}`;
const ancestor = (agent: string, name: string): Ancestor => ({ turn: id(name), callId: '1.1', agent });

/** Turns that nobody works on, by name. */
const TURNS: Record<string, TurnInput> = {
  open: { agent: SEEN, prompt: 'in the open' },
  own: { agent: SEEN, prompt: 'a part', lineage: [ancestor(SEEN, 'open')] },
  [`${WORD}-away`]: { agent: HIDDEN, prompt: `${WORD} away` },
  [`${WORD}-part`]: { agent: SEEN, prompt: `${WORD} part`, lineage: [ancestor(HIDDEN, `${WORD}-away`)] },
  [`${WORD}-deep`]: {
    ...{ agent: SEEN, prompt: `${WORD} deep` },
    lineage: [ancestor(HIDDEN, `${WORD}-away`), ancestor(SEEN, `${WORD}-part`)],
  },
  [`${WORD}-fork`]: {
    ...{ agent: SEEN, prompt: `${WORD} fork` },
    fork: { of: id(`${WORD}-part`), from: '1', world: 'dry', lineage: [ancestor(HIDDEN, `${WORD}-away`)] },
  },
  [`${WORD}-called`]: { agent: HIDDEN, prompt: `${WORD} called`, lineage: [ancestor(SEEN, 'open')] },
};
const HIDDEN_TURNS = Object.keys(TURNS).filter((name) => name.startsWith(WORD));

const FILE = `installation: 0123456789abcdef0123456789abcdef
people: { ann: {}, boss: {}, none: {} }
visibility: { ann: [${SEEN}], boss: all, none: [${id('nothing')}] }
rules: [{ name: default, then: by_safety }]
`;

let client: Countersign;
let app: Awaited<ReturnType<typeof createTestApp>>;
let people = parseApprovers(FILE, 'a.yaml');
const tokens = new Map<string, string>();

const PENDING = defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT);

const startTurn = async (name: string, input: TurnInput): Promise<void> => {
  const { typedSearchAttributes, memo, ...head } = startOf(input, input.prompt);
  const { since, deadline } = { since: new Date().toISOString(), deadline: null };
  const item = {
    callId: '1.1',
    kind: 'request',
    tool: `pay_${name}`,
    summary: input.prompt,
    since,
    deadline,
  };
  await client.client.workflow.start('agentTurn', {
    ...head,
    ...{ taskQueue: 'nobody-works-here', workflowId: id(name), args: [input] },
    memo: { ...memo, open: { key: 'k', count: 1, items: [item] } },
    typedSearchAttributes: [
      ...typedSearchAttributes.filter(({ key }) => key.name !== PENDING.name),
      { key: PENDING, value: 1 },
    ],
  });
};

const startSession = (name: string, agent: string, text: string): Promise<unknown> =>
  client.client.workflow.start('agentSession', {
    ...{ taskQueue: 'nobody-works-here', workflowId: id(name), args: [{ agent }] },
    memo: { session: { agent, state: 'idle', turns: 0, waiting: 0, text } },
  });

beforeAll(async () => {
  client = await testClient(testAddress());
  app = await createTestApp(client, { people: async () => people });
  for (const name of ['ann', 'boss', 'none'])
    tokens.set(name, await app.users.add(name, ['converse', 'fork-live']));
  for (const [name, input] of Object.entries(TURNS)) await startTurn(name, input);
  await startSession('talk', SEEN, 'in the open');
  await startSession(`${WORD}-talk`, HIDDEN, `${WORD} talk`);
  await until('all are listed', async () => {
    const { turns } = await listOf('boss', `/api/turns?text=${RUN}`);
    const { sessions } = await client.sessions({ agents: [SEEN, HIDDEN] });
    return turns.length === Object.keys(TURNS).length && sessions.length === 2;
  });
});
beforeEach(() => {
  people = parseApprovers(FILE, 'a.yaml');
});
afterAll(async () => {
  app.close();
  await app.remove();
  for (const name of [...Object.keys(TURNS), 'talk', `${WORD}-talk`])
    await client.client.workflow.getHandle(id(name)).terminate('over');
  await client.close();
});

const ask = (name: string, path: string, json?: unknown): Promise<Response> =>
  app.ask(path, {
    headers: { authorization: `Bearer ${tokens.get(name) ?? ''}` },
    ...(json === undefined ? {} : { json }),
  });

const listOf = async (name: string, path: string): Promise<{ turns: { turn: string }[]; older: unknown }> => {
  const answer: unknown = await (await ask(name, path)).json();
  return JSON.parse(JSON.stringify(answer));
};

const POSTS: Readonly<Record<string, unknown>> = {
  decisions: { callId: '1.1', callKey: 'k', seenDigest: 'a'.repeat(64), decisionId: 'd', decision: 'denied' },
  'ask-again': {
    ...{ callId: '1.1', callKey: 'k', seenDigest: 'a'.repeat(64), decisionId: 'd' },
    ...{ decision: 'ask-again', reason: 'nobody of the rule is left' },
  },
  resolutions: { callId: '1.1', callKey: 'k', decisionId: 'd', resolution: 'happened' },
  answers: { callId: '1.1', callKey: 'k', decisionId: 'd', answer: 'declined' },
  cancel: {},
  forks: { at: '1' },
  'grant-plans': { callId: '1.1', seenDigest: 'a'.repeat(64), times: 1 },
  grants: {
    decision: {
      callId: '1.1',
      callKey: 'k',
      seenDigest: 'a'.repeat(64),
      decisionId: 'd',
      decision: 'approved',
    },
    terms: {
      ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'a', tool: 't', toolDigest: 'a'.repeat(64) },
      ...{ ruleDigest: '', policyDigest: '', narrowing: {}, times: 1, by: 'ann' },
      ...{ at: '2026-11-25T12:00:00.000Z', until: '2026-11-25T13:00:00.000Z' },
    },
  },
  messages: { text: 'hi', messageId: 'm-1' },
  controls: { action: 'pause' },
};

/** Each route of one turn or conversation, with the id put in. */
const routesOf = (part: ':turn' | ':session', ids: string): [string, unknown][] =>
  [...needsOf(ROUTES).keys()]
    .filter((route) => route.includes(`/${part}`))
    .map((route) => {
      const [method, path = ''] = route.split(' ');
      const last = path.split('/').at(-1) ?? '';
      return [path.replace(part, ids).replace(':callId', '1.1'), method === 'POST' ? POSTS[last] : undefined];
    });

const answerOf = async (name: string, [path, json]: [string, unknown]): Promise<string> => {
  const response = await ask(name, path, json);
  return `${response.status} ${await response.text()}`.replace(/"at":"[^"]*"/g, '"at":"now"');
};

/** A stream has no status of its own, and says it as the only thing beside its beat. */
const NOT_FOUND =
  /^(?:404 |200 retry: 1000\n\n(?:event: beat\ndata: .*\n\n)?event: trouble\ndata: ).*"code":"not_found".*\s*$/;

test.each(HIDDEN_TURNS)(
  '%s is not there for who does not see its agent, or that of who called it',
  async (name) => {
    for (const route of routesOf(':turn', id(name))) {
      const [path, json] = route;
      const answer = await answerOf('ann', route);
      expect(answer).toMatch(NOT_FOUND);
      // Word for word what is said of a turn that never was.
      const missing = await answerOf('ann', [path.replace(WORD, 'nobody'), json]);
      expect(answer.replaceAll(WORD, 'nobody')).toBe(missing);
    }
  },
);

test('a conversation is not there for who does not see its agent', async () => {
  for (const route of routesOf(':session', id(`${WORD}-talk`))) {
    const [path, json] = route;
    const answer = await answerOf('ann', route);
    expect(answer).toMatch(NOT_FOUND);
    const missing = await answerOf('ann', [path.replace(WORD, 'nobody'), json]);
    expect(answer.replaceAll(WORD, 'nobody')).toBe(missing);
  }
  expect(
    await answerOf('ann', [`/api/conversations/${id('new')}/messages`, { ...messageTo(HIDDEN) }]),
  ).toMatch(/^404 /);
  expect(
    await answerOf('ann', [`/api/conversations/${id(`${WORD}-talk`)}/messages`, messageTo(SEEN)]),
  ).toMatch(/^404 /);
});

const messageTo = (agent: string) => ({
  text: 'hi',
  messageId: 'm-2',
  agent,
  taskQueue: 'nobody-works-here',
});

test('what is seen is there, a child turn too whose callers are all seen', async () => {
  for (const name of ['open', 'own']) expect((await ask('ann', `/api/turns/${id(name)}`)).status).toBe(200);
  expect((await ask('boss', `/api/turns/${id(`${WORD}-part`)}`)).status).toBe(200);
  expect((await ask('ann', `/api/conversations/${id('talk')}`)).status).toBe(200);
});

test('no beginning of an id names a hidden turn', async () => {
  expect(await answerOf('ann', [`/api/turns/${RUN}`, undefined])).not.toContain(WORD);
});

test.each([
  '/api/turns',
  `/api/turns?agent=${HIDDEN}`,
  `/api/turns?text=${WORD}`,
  `/api/turns?id=${id(WORD)}`,
  `/api/turns?text=${RUN}&limit=1`,
  `/api/turns?tool=pay_${WORD}-away`,
  '/api/inbox',
  `/api/inbox?text=${WORD}`,
  `/api/inbox?agent=${HIDDEN}`,
  '/api/conversations',
  `/api/conversations?agent=${HIDDEN}`,
  '/api/stats',
  `/api/stats?agent=${HIDDEN}`,
  '/api/decided',
  '/api/refusals',
])('%s shows nothing hidden, to anybody who may not see it', async (path) => {
  for (const name of ['ann', 'none']) {
    const response = await ask(name, path);
    const text = await response.text();
    expect(response.status).toBe(200);
    for (const one of [WORD, HIDDEN]) expect(text.toLowerCase()).not.toContain(one);
    // Where a page of turns ends is written in the cursor.
    const older = /"older":"([\w-]+)"/.exec(text)?.[1] ?? '';
    expect(Buffer.from(older, 'base64url').toString()).not.toContain(WORD);
  }
});

test('lists, counts and searches what is seen', async () => {
  const turns = (await listOf('ann', `/api/turns?text=${RUN}`)).turns.map(({ turn }) => turn).sort();
  expect(turns).toEqual([id('open'), id('own')]);
  expect(await (await ask('ann', '/api/inbox')).json()).toMatchObject({ waiting: 2, matching: 2 });
  expect(await (await ask('ann', '/api/conversations')).json()).toMatchObject({
    conversations: [{ session: id('talk') }],
    older: null,
  });
  expect(await (await ask('ann', '/api/stats')).json()).toMatchObject({ stats: { turns: { count: 2 } } });
  expect(await (await ask('none', '/api/inbox')).json()).toMatchObject({ waiting: 0, agents: [], tools: [] });
});

test('counts what is seen only in the stream of the inbox, and is silent when what is hidden changes', async () => {
  const events = eventsIn(await ask('ann', '/api/inbox/events'));
  let first = await events.next();
  while (!JSON.stringify(first.value).includes('"complete":true')) first = await events.next();
  expect(first.value).toMatchObject({ event: 'waiting', data: { waiting: 2 } });
  await startTurn(`${WORD}-late`, { agent: HIDDEN, prompt: `${WORD} late` });
  TURNS[`${WORD}-late`] = { agent: HIDDEN, prompt: '' };
  await until('the other one sees it', async () =>
    (await (await ask('boss', '/api/inbox')).text()).includes(`${WORD}-late`),
  );
  await startTurn('more', { agent: SEEN, prompt: 'one more' });
  TURNS['more'] = { agent: SEEN, prompt: '' };
  expect((await events.next()).value).toMatchObject({ event: 'waiting', data: { waiting: 3 } });
  await events.return(undefined);
});

test.each([
  ['the inbox', () => '/api/inbox/events'],
  ['a turn', () => `/api/turns/${id('open')}/events`],
  ['a conversation', () => `/api/conversations/${id('talk')}/events`],
])('ends the stream of %s once its reader sees other agents', async (_case, path) => {
  const events = eventsIn(await ask('ann', path()));
  expect((await events.next()).done).toBe(false);
  people = parseApprovers(FILE.replace(`ann: [${SEEN}]`, `ann: [${id('nothing')}]`), 'a.yaml');
  await expect(untilDone(events)).resolves.toBeUndefined();
});

const untilDone = async (events: AsyncGenerator<unknown>): Promise<void> => {
  for await (const _event of events);
};
