import { readFile, writeFile } from 'node:fs/promises';
import type { Answer, Countersign, Pending } from '../../src/client';
import type { FollowOptions } from '../../src/client/requests';
import { CountersignError } from '../../src/contract/errors';
import type { ServerEvent } from '../../src/server/sse';
import { TextStore } from '../../src/server/streamed-text';
import { turnEvents, untilFirstEnds } from '../../src/server/turns';
import type { TurnEvent } from '../../src/history/events';
import { mostReactions } from '../support/reactions';
import { cookieOf, useApp, useOfflineApp } from './support';

const IDLE: Pending = { activities: [], idleQueues: [] };

const thinking = (step: number): TurnEvent => ({ type: 'thinking', eventId: step, at: '', step });

/** A turn with these events; it ends after them, or waits. */
const clientOf = (events: TurnEvent[], { ends = true, pending = async () => IDLE } = {}) => ({
  follow: async function* (_turn: string, { signal, onCaughtUp }: FollowOptions = {}) {
    yield* events;
    onCaughtUp?.();
    if (!ends) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  },
  pendingActivities: pending,
});

const collect = async (events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> => {
  const received: ServerEvent[] = [];
  for await (const event of events) received.push(event);
  return received;
};

const never = new AbortController().signal;

it('sends what runs once all events so far were sent, so that a page does not draw half of a turn', async () => {
  const gone = new AbortController();
  const received: string[] = [];
  const client = clientOf([thinking(1), thinking(2), thinking(3)], { ends: false });
  for await (const { event } of turnEvents({ client, texts: new TextStore('default') }, 't', gone.signal)) {
    received.push(event);
    if (event === 'pending') gone.abort();
  }
  expect(received).toEqual(['turn', 'turn', 'turn', 'pending']);
});

it('sends each event with its place, and the end', async () => {
  const received = await collect(
    turnEvents({ client: clientOf([thinking(1), thinking(2)]), texts: new TextStore('default') }, 't', never),
  );
  expect(received.filter(({ event }) => event === 'turn')).toEqual([
    { event: 'turn', id: 0, data: thinking(1) },
    { event: 'turn', id: 1, data: thinking(2) },
  ]);
  expect(received.at(-1)).toEqual({ event: 'end', data: {} });
});

it('ends without an end where the reader goes', async () => {
  const gone = new AbortController();
  const received: string[] = [];
  for await (const { event } of turnEvents(
    { client: clientOf([thinking(1)], { ends: false }), texts: new TextStore('default') },
    't',
    gone.signal,
  )) {
    received.push(event);
    if (received.length === 2) gone.abort();
  }
  expect(received.sort()).toEqual(['pending', 'turn']);
});

it('stops asking what runs once the turn has ended', async () => {
  const asked: number[] = [];
  const pending = async (): Promise<Pending> => {
    asked.push(1);
    return IDLE;
  };
  await collect(
    turnEvents({ client: clientOf([thinking(1)], { pending }), texts: new TextStore('default') }, 't', never),
  );
  const before = asked.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toHaveLength(before);
});

it('throws an error, which the stream reports', async () => {
  const failed = new CountersignError('no_server', 'gone');
  const client = clientOf([thinking(1)], { ends: false, pending: () => Promise.reject(failed) });
  await expect(collect(turnEvents({ client, texts: new TextStore('default') }, 't', never))).rejects.toBe(
    failed,
  );
});

describe('decisions', () => {
  const REFUSED: Answer = {
    status: 'refused',
    verdict: { accepted: false, callId: '1.1', code: 'expired', message: 'its deadline has passed' },
  };
  const BODY = { callId: '1.1', callKey: 'key', seenDigest: 'a'.repeat(64), decisionId: 'd-1' };

  let sent: unknown[][];
  /** A client that knows the turn `t-1`, refuses every decision, and keeps what it was asked. */
  const client = new Proxy<Countersign>(Object.create(null), {
    get: (_: object, name: string) => {
      if (name === 'namespace') return 'default';
      return async (...args: unknown[]) => {
        if (name === 'find') return 't-1';
        sent.push([name, ...args]);
        return name === 'decide' || name === 'resolve' ? REFUSED : undefined;
      };
    },
  });

  beforeEach(() => (sent = []));
  const { app, cookie } = useApp(() => client, 'test');

  const post = (path: string, json: unknown): Promise<Response> =>
    app().ask(`/api/turns/t-1/${path}`, { cookie: cookie(), json });

  it('sends a decision under the signed-in user, and answers and logs its refusal', async () => {
    const response = await post('decisions', { ...BODY, decision: 'denied', reason: 'no' });
    expect(response.status).toBe(409);
    expect(await response.json()).toEqual(REFUSED);
    const from = { approver: 'owner', channel: 'web', authenticated: true };
    expect(sent).toEqual([
      ['decide', 't-1', { ...BODY, decision: 'denied', reason: 'no', ...from }],
      ['agentsOf', 't-1'],
    ]);
    expect(JSON.parse(await readFile(app().refusalsFile, 'utf8'))).toMatchObject({
      ...{
        namespace: 'default',
        user: 'owner',
        turn: 't-1',
        callId: '1.1',
        what: 'decision',
        code: 'expired',
      },
    });
  });

  it.each([
    ['names another approver', { ...BODY, decision: 'approved', approver: 'boss' }],
    ['does not name what was shown', { callId: '1.1', callKey: 'key', decision: 'approved' }],
    ['is not a decision', { ...BODY, decision: 'perhaps' }],
    ['hides control characters in its reason', { ...BODY, decision: 'denied', reason: 'a\u0007b' }],
  ])('sends nothing when the body %s', async (_, body) => {
    expect((await post('decisions', body)).status).toBe(400);
    expect(sent).toEqual([]);
  });

  it('finds no turn by the beginning of its id', async () => {
    const response = await app().ask('/api/turns/t/decisions', {
      cookie: cookie(),
      json: { ...BODY, decision: 'denied' },
    });
    expect(response.status).toBe(404);
    expect(sent).toEqual([]);
  });

  it.each([
    ['cancels under the name of the user', {}, ['cancel', 't-1', 'by owner']],
    ['cancels with a reason', { reason: 'late' }, ['cancel', 't-1', 'by owner: late']],
    [
      'abandons',
      { abandon: true, reason: 'lost' },
      ['abandon', 't-1', { approver: 'owner', reason: 'lost' }],
    ],
  ])('%s', async (_, body, call) => {
    expect((await post('cancel', body)).status).toBe(204);
    expect(sent).toEqual([call]);
  });
});

describe('forks', () => {
  const { app, cookie } = useOfflineApp();

  const path = '/api/turns/t/forks';
  const ask = (json: unknown): Promise<Response> => app().ask(path, { cookie: cookie(), json });

  test.each<[string, unknown, string]>([
    ['no place', {}, 'at'],
    ['an empty place', { at: '' }, 'at'],
    ['a world by name', { at: '1.1', world: 'live' }, 'world'],
    ['another person who decides', { at: '1.1', change: decided({ approver: 'boss' }) }, 'approver'],
    ['a decision that is none', { at: '1.1', change: decided({ decision: 'modified' }) }, 'decision'],
    ['a reason that deceives', { at: '1.1', change: decided({ reason: 'a\u0007b' }) }, 'control'],
    ['a reason without end', { at: '1.1', change: decided({ reason: 'x'.repeat(5_000) }) }, 'bytes'],
    ['arguments that are a list', { at: '1.1', change: { what: 'arguments', arguments: [1] } }, 'object'],
    ['two changes in one', { at: '1.1', change: decided({ arguments: {} }) }, 'arguments'],
    ['a change of nothing known', { at: '1.1', change: { what: 'history' } }, 'what'],
    ['calls without a tool', { at: '1.1', change: { what: 'reply', reply: { calls: [{}] } } }, 'tool'],
    ['a queue of its own', { at: '1.1', taskQueue: 'mine' }, 'taskQueue'],
    ['live by a word', { at: '1.1', live: 'yes' }, 'live'],
  ])('a fork with %s is refused', async (_name, json, named) => {
    const response = await ask(json);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'usage', message: expect.stringContaining(named) });
  });

  test.each([
    ['without a session', { json: { at: '1.1' } }, 401, 'signed_out'],
    [
      'from another origin',
      { json: { at: '1.1' }, headers: { origin: 'https://evil.example' } },
      403,
      'not_allowed',
    ],
    ['as a form', { body: 'at=1.1', headers: { 'content-type': 'text/plain' } }, 400, 'usage'],
  ])('a fork %s is refused', async (name, options, status, code) => {
    const response = await app().ask(path, {
      ...options,
      ...(name === 'without a session' ? {} : { cookie: cookie() }),
    });
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
  });

  describe('with effects', () => {
    const live = { at: '1.1', live: true };
    const forged = { ...live, change: { what: 'reply', reply: { calls: [{ tool: 'pay', arguments: {} }] } } };
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

    test.each([
      ['as it was', live],
      ['with calls that are made up', forged],
    ])('is refused %s for who has only signed in', async (_name, json) => {
      const token = await app().users.add('dora');
      const response = await app().ask(path, { json, headers: bearer(token) });
      expect([response.status, await response.json()]).toMatchObject([
        403,
        { code: 'not_allowed', hint: expect.stringContaining('--may-fork') },
      ]);
      await app().users.remove('dora');
    });

    // The server behind this web inbox is not there: 500 says that it was asked.
    test('passes for a user with the right, and without effects for everybody', async () => {
      const [ann, bob] = [await app().users.add('ann', ['fork-live']), await app().users.add('bob')];
      expect((await app().ask(path, { json: live, headers: bearer(ann) })).status).toBe(500);
      expect((await app().ask(path, { json: live, cookie: cookie() })).status).toBe(500);
      expect((await app().ask(path, { json: { at: '1.1' }, headers: bearer(bob) })).status).toBe(500);
    });

    test('follows the current rights, in a session too, and the session shows them', async () => {
      const token = await app().users.add('eve', ['fork-live']);
      const session = cookieOf(await app().ask('/api/session', { json: { token } }));
      const answer = await app().ask('/api/session', { cookie: session });
      expect(await answer.json()).toMatchObject({ user: 'eve', rights: ['fork-live'] });
      const file = JSON.parse(await readFile(app().usersFile, 'utf8'));
      for (const user of file.users) if (user.name === 'eve') user.rights = [];
      await writeFile(app().usersFile, JSON.stringify(file));
      expect((await app().ask(path, { json: live, cookie: session })).status).toBe(403);
      expect(await (await app().ask('/api/session', { cookie: session })).json()).toMatchObject({
        rights: [],
      });
    });
  });

  function decided(more: object): object {
    return { what: 'decision', decision: 'denied', ...more };
  }
});

test('two sources are read until the first one ends, each item once, also where the other one ends sooner', async () => {
  const items = async function* (name: string, count: number) {
    for (let n = 1; n <= count; n++) {
      yield `${name}${n}`;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const found: string[] = [];
  for await (const item of untilFirstEnds(items('first', 5), items('other', 1))) {
    found.push(item);
    if (found.length > 6) break;
  }
  expect(found.sort()).toEqual(['first1', 'first2', 'first3', 'first4', 'first5', 'other1']);
});

test('a source that is silent keeps nothing of the items of the other one', async () => {
  const silent = async function* () {
    await new Promise<never>(() => undefined);
    yield 0;
  };
  const busy = async function* () {
    for (let n = 0; ; n++) yield n;
  };
  const items = untilFirstEnds<number>(silent(), busy());
  const most = await mostReactions(async () => {
    for (let n = 0; n < 20; n++) await items.next();
  });
  expect(most).toBeLessThan(5);
});
