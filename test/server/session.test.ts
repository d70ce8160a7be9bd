import { defined } from '../../src/contract/defined';
import { isJsonObject } from '../../src/contract/json';
import { USER_HEADER } from '../../src/contract/names';
import { HOST, cookieOf, createTestApp, unreachable, useOfflineApp } from './support';

const { app, cookie } = useOfflineApp('test');

/** Signs in under another name of the web inbox. */
const signInAt = (host: string, scheme = 'http'): Promise<Response> =>
  app().ask('/api/session', {
    json: { code: app().codes.draw() },
    headers: { host, origin: `${scheme}://${host}` },
  });

it.each([
  ['loopback', HOST, 'http', /^countersign-7243=[\w-]{43};/, false],
  ['loopback by name', 'localhost:7243', 'http', /^countersign-7243=/, false],
  ['another name by https', 'inbox.example.com', 'https', /^__Host-countersign-inbox=/, true],
  ['another port of it', 'inbox.example.com:7243', 'https', /^__Host-countersign-7243=/, true],
])('names the cookie after host and port: %s', async (_what, host, scheme, name, isSecure) => {
  const set = (await signInAt(host, scheme)).headers.get('set-cookie') ?? '';
  expect(set).toMatch(name);
  expect(/; Secure/.test(set)).toBe(isSecure);
  expect(set).toMatch(/; HttpOnly/);
  expect(set).toMatch(/; SameSite=Strict/);
});

describe('behind a path of a reverse proxy', () => {
  let inner: Awaited<ReturnType<typeof createTestApp>>;
  beforeAll(async () => {
    inner = await createTestApp(unreachable(), { basePath: '/countersign' });
  });
  afterAll(() => inner.remove());

  it.each([
    ['which it keeps', '/countersign'],
    ['which it takes away', ''],
  ])('%s, serves page, API and events', async (_what, base) => {
    const page = await inner.ask(`${base}/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>inbox')]);
    const opened = await inner.ask(`${base}/api/session`, { json: { code: inner.codes.draw() } });
    expect(opened.headers.get('set-cookie')).toMatch(/; Path=\/countersign\//);
    const cookie = cookieOf(opened);
    expect((await inner.ask(`${base}/api/session`, { cookie })).status).toBe(200);
    const stream = await inner.ask(`${base}/api/inbox/events`, { cookie });
    await stream.body?.cancel();
    expect(stream.status).toBe(200);
  });

  it('ends the address of the page with a slash, so that its parts are beside it', async () => {
    const response = await inner.ask('/countersign');
    expect([response.status, response.headers.get('location')]).toEqual([302, '/countersign/']);
  });

  it('names its cookie so that browsers take it for a path', async () => {
    const headers = { host: 'inbox.example.com', origin: 'https://inbox.example.com' };
    const json = { code: inner.codes.draw() };
    const response = await inner.ask('/countersign/api/session', { json, headers });
    expect(response.headers.get('set-cookie')).toMatch(/^__Secure-countersign-inbox=.*; Secure/);
  });
});

it.each([
  ['nothing', {}],
  ['an empty token', { token: '' }],
  ['a token of 201 letters', { token: 'x'.repeat(201) }],
  ['a token and a code', { token: 'a', code: 'b' }],
  ['a user by name', { user: 'owner' }],
])('does not sign in by %s', async (_what, json) => {
  const response = await app().ask('/api/session', { json });
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'usage' }]);
  expect(response.headers.get('set-cookie')).toBeNull();
});

it('signs out in this browser only, and removes the cookie', async () => {
  const other = await app().signIn();
  const response = await app().ask('/api/session', { method: 'DELETE', cookie: cookie() });
  expect(response.status).toBe(204);
  expect(cookieOf(response)).toBe('countersign-7243=');
  expect((await app().ask('/api/session', { cookie: cookie() })).status).toBe(401);
  expect((await app().ask('/api/session', { cookie: other })).status).toBe(200);
});

it('tells who only asks that nobody is signed in without the status of an error', async () => {
  const response = await app().ask('/api/session?quiet');
  expect([response.status, await response.json()]).toMatchObject([200, { code: 'signed_out' }]);
});

describe('a page that shows somebody as signed in', () => {
  it('names that person in the address of a stream, where a browser sends no header', async () => {
    const streamed = async (shown: string): Promise<number> => {
      const query = new URLSearchParams({ [USER_HEADER]: encodeURIComponent(shown) });
      const response = await app().ask(`/api/inbox/events?${query}`, { cookie: cookie() });
      await response.body?.cancel();
      return response.status;
    };
    expect(await streamed('owner')).toBe(200);
    expect(await streamed('ann é')).toBe(401);
  });

  const asked = async (shown: string, json?: object): Promise<number> => {
    const path = json === undefined ? '/api/session' : '/api/turns/t/decisions';
    const headers = { [USER_HEADER]: shown };
    return (await app().ask(path, { cookie: cookie(), headers, ...defined({ json }) })).status;
  };

  it.each(['ann', 'Owner', '', 'owner%20'])(
    'is refused where that is not who is signed in: %j',
    async (shown) => {
      expect(await asked(shown)).toBe(401);
      // Refused before its body is looked at.
      expect(await asked(shown, {})).toBe(401);
    },
  );

  it('is answered where that is who is signed in', async () => {
    expect(await asked('owner')).toBe(200);
    expect(await asked('owner', {})).toBe(400);
  });

  it('may show a name with any letters', async () => {
    const token = await app().users.add('ann@example.com');
    const headers = {
      authorization: `Bearer ${token}`,
      [USER_HEADER]: encodeURIComponent('ann@example.com'),
    };
    expect((await app().ask('/api/session', { headers })).status).toBe(200);
  });
});

it('takes no token from the address', async () => {
  const token = await app().users.add('ann');
  expect((await app().ask(`/api/session?token=${token}`)).status).toBe(401);
  const headers = { authorization: `Bearer ${token}` };
  expect((await app().ask('/api/session', { headers })).status).toBe(200);
});

describe('says who somebody is in the approvers file', () => {
  const file = {
    people: [
      { name: 'anna', groups: ['finance', 'leads'], delegates: [], mail: 'anna@example.com' },
      { name: 'owner', groups: [], delegates: [] },
    ],
    personOf: (name: string) => ({ 'anna@example.com': 'anna', anna: 'anna', owner: 'owner' })[name],
  };
  let withFile: Awaited<ReturnType<typeof createTestApp>>;
  beforeAll(async () => {
    withFile = await createTestApp(unreachable(), { voters: async () => file });
  });
  afterAll(() => withFile.remove());

  test.each([
    ['a person', 'anna', { person: 'anna', groups: ['finance', 'leads'] }],
    ['a person by mail', 'anna@example.com', { person: 'anna', groups: ['finance', 'leads'] }],
    ['a person in no group', 'owner', { person: 'owner', groups: [] }],
    ['a stranger', 'carl', undefined],
  ])('%s', async (_what, name, inFile) => {
    const token = await withFile.users.add(name);
    const headers = { authorization: `Bearer ${token}` };
    const session: unknown = await (await withFile.ask('/api/session', { headers })).json();
    const { user, role, ...said } = isJsonObject(session) ? session : {};
    expect([user, role, said['inFile']]).toEqual([name, 'admin', inFile]);
  });
});
