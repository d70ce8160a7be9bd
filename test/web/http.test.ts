import { z } from 'zod';

type Send<A extends unknown[]> = (...args: A) => Promise<unknown>;

/** Loaded without its types: it is checked with the browser's, which do not fit beside Node's. */
const { newDecisionId, readInbox, sendDecision, showUser, signIn, signOut, turnPath } = z
  .object({
    newDecisionId: z.custom<() => string>(),
    readInbox: z.custom<Send<[wanted: object, seen?: string]>>(),
    sendDecision: z.custom<Send<[turn: string, body: object]>>(),
    showUser: z.custom<(user: string | undefined) => void>(),
    signIn: z.custom<Send<[body: object]>>(),
    signOut: z.custom<Send<[]>>(),
    turnPath: z.custom<(turn: string) => string>(),
  })
  .parse(jest.requireActual('../../src/web/http'));

interface Sent {
  path: string;
  options: RequestInit;
}

/** Answers every request in place of the server, and keeps what was sent. */
const answering = (answer: () => Response | Promise<Response>): Sent[] => {
  const sent: Sent[] = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (path, options = {}) => {
    sent.push({ path: String(path), options });
    return answer();
  });
  return sent;
};

afterEach(() => jest.restoreAllMocks());

const BODY = { callId: '1.1', decision: 'approved', callKey: 'key', seenDigest: 'seen' };

it('sends a body as JSON, and none where there is none', async () => {
  const sent = answering(() => Response.json({ user: 'ann' }));
  expect(await signIn({ token: 't' })).toEqual({ ok: true, data: { user: 'ann' } });
  await readInbox({ query: 'tool=pay', offset: 50, limit: 200 }, 'k1');
  expect(sent).toMatchObject([
    {
      path: 'api/session',
      options: { method: 'POST', body: '{"token":"t"}', headers: { 'content-type': 'application/json' } },
    },
    {
      path: 'api/inbox?tool=pay&offset=50&limit=200&seen=k1',
      options: { method: 'GET', credentials: 'same-origin' },
    },
  ]);
  expect(sent[1]?.options).not.toHaveProperty('body', expect.anything());
  expect(sent[1]?.options.headers).not.toHaveProperty('content-type', expect.anything());
});

it('names the user whom the page shows as signed in, once there is one', async () => {
  const sent = answering(() => Response.json({}));
  await sendDecision('t', BODY);
  showUser('ann é');
  await sendDecision('t', BODY);
  showUser(undefined);
  await sendDecision('t', BODY);
  expect(sent.map(({ options }) => new Headers(options.headers).get('countersign-user'))).toEqual([
    null,
    'ann%20%C3%A9',
    null,
  ]);
});

it('writes an id so that it cannot name another path', () => {
  expect(turnPath('a/../b?c#d')).toBe('api/turns/a%2F..%2Fb%3Fc%23d');
});

it('takes an answer without a body', async () => {
  answering(() => new Response(null, { status: 204 }));
  expect(await signOut()).toEqual({ ok: true, data: null });
});

const error = { code: 'not_found', message: 'there is no turn t' };

it.each([
  ['a refused decision as an answer', 409, { status: 'refused', verdict: { code: 'expired' } }, true],
  ['a conflict without an answer as an error', 409, error, false],
  ['any other status as an error', 404, error, false],
])('takes %s', async (_what, status, body, ok) => {
  answering(() => Response.json(body, { status }));
  expect(await sendDecision('t', BODY)).toEqual(ok ? { ok, data: body } : { ok, status, error: body });
});

it.each([
  ['nobody answers', () => Promise.reject(new TypeError('fetch failed'))],
  ['a proxy answers with a page', () => new Response('<html>', { status: 502 })],
])('says that the web inbox does not answer where %s', async (_what, answer) => {
  answering(answer);
  expect(await sendDecision('t', BODY)).toMatchObject({ ok: false, status: 0, error: { code: 'no_answer' } });
});

it('keeps that nobody is signed in where a proxy says it with a page', async () => {
  answering(() => new Response('<html>', { status: 401 }));
  expect(await sendDecision('t', BODY)).toMatchObject({ ok: false, status: 401 });
});

it('draws another id for each decision', () => {
  const ids = Array.from({ length: 100 }, newDecisionId);
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^web-[0-9a-f]{32}$/);
});
