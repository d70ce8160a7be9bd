import { cookieOf, useOfflineApp } from '../support';
import { defined } from '../../../src/contract/defined';

const { app } = useOfflineApp('test');

const whoAmI = (cookie?: string, headers?: Record<string, string>): Promise<Response> =>
  app().ask('/api/session', defined({ cookie, headers }));

describe('the link of the terminal', () => {
  it('signs in once, as who started the web inbox, by a cookie that no script and no other site can use', async () => {
    const code = app().codes.draw();
    const response = await app().ask('/api/session', { json: { code } });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      user: 'owner',
      rights: ['fork-live', 'converse'],
      role: 'admin',
      namespace: 'default',
      version: '1.2.3',
      undoMs: 0,
      takesFiles: false,
    });
    const set = response.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/^countersign-7243=[\w-]{43}; /);
    expect(set).toMatch(/HttpOnly/);
    expect(set).toMatch(/SameSite=Strict/);
    expect(set).toMatch(/Path=\//);
    expect(set).not.toMatch(/Secure|Domain|Expires|Max-Age/);
    expect((await whoAmI(cookieOf(response))).status).toBe(200);
    const again = await app().ask('/api/session', { json: { code } });
    expect(again.status).toBe(401);
    expect(again.headers.get('set-cookie')).toBeNull();
    expect(app().staleCodes).toHaveLength(1);
  });

  it('is not drawn anew for whoever only guesses', async () => {
    expect((await app().ask('/api/session', { json: { code: 'guess' } })).status).toBe(401);
    expect(app().staleCodes).toEqual([]);
  });

  it('is good for 10 minutes, and its session for 12 hours of idleness', async () => {
    const code = app().codes.draw();
    const cookie = await app().signIn();
    app().clock.ahead = 10 * 60_000;
    expect((await app().ask('/api/session', { json: { code } })).status).toBe(401);
    app().clock.ahead += 12 * 3600_000;
    expect((await whoAmI(cookie)).status).toBe(401);
  });
});

describe('a token', () => {
  it('signs in by cookie and goes by header, under its user', async () => {
    const token = await app().users.add('ann');
    const response = await app().ask('/api/session', { json: { token } });
    for (const answer of [
      await whoAmI(cookieOf(response)),
      await whoAmI(undefined, { authorization: `Bearer ${token}` }),
      await whoAmI(undefined, { authorization: `bearer ${token}` }),
    ])
      expect(await answer.json()).toMatchObject({ user: 'ann' });
  });

  it('is worth nothing once its user is removed, and so is its session', async () => {
    const token = await app().users.add('ann');
    const cookie = cookieOf(await app().ask('/api/session', { json: { token } }));
    await app().users.remove('ann');
    await app().users.add('ann');
    expect((await whoAmI(cookie)).status).toBe(401);
    expect((await whoAmI(undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
  });

  it.each(['token', 'access_token', 'code', 'authorization', 'session'])(
    'in the address as %s is never looked at',
    async (name) => {
      const token = await app().users.add('ann');
      const code = app().codes.draw();
      for (const secret of [token, code])
        expect((await app().ask(`/api/session?${name}=${secret}`)).status).toBe(401);
    },
  );

  it.each(['', 'Basic YW5uOng=', 'Bearer', 'Bearer  ', 'Bearer nobody'])(
    '%j lets nobody in',
    async (authorization) => {
      expect((await whoAmI(undefined, { authorization })).status).toBe(401);
    },
  );
});

it('counts failures: after ten nobody gets in from there for a minute, not even with the right code', async () => {
  for (let n = 0; n < 10; n++)
    expect((await app().ask('/api/session', { json: { token: `guess ${n}` } })).status).toBe(401);
  const blocked = await app().ask('/api/session', { json: { code: app().codes.draw() } });
  expect(blocked.status).toBe(429);
  expect(await blocked.json()).toMatchObject({ code: 'too_many_attempts' });
  const bearer = (token: string): Promise<Response> =>
    app().ask('/api/session', { headers: { authorization: `Bearer ${token}` } });
  expect((await bearer('guess')).status).toBe(429);
  expect((await bearer(await app().users.add('ann'))).status).toBe(200);
  app().clock.ahead = 60_000;
  expect((await app().ask('/api/session', { json: { code: app().codes.draw() } })).status).toBe(200);
});

it('opens no session under a cookie that somebody chose before', async () => {
  const chosen = `countersign-7243=${'c'.repeat(43)}`;
  const response = await app().ask('/api/session', { json: { code: app().codes.draw() }, cookie: chosen });
  expect(response.status).toBe(200);
  expect(cookieOf(response)).not.toBe(chosen);
  expect((await whoAmI(chosen)).status).toBe(401);
});

it('signs out', async () => {
  const cookie = await app().signIn();
  const response = await app().ask('/api/session', { method: 'DELETE', cookie });
  expect(response.status).toBe(204);
  expect(response.headers.get('set-cookie')).toMatch(/Max-Age=0/);
  expect((await whoAmI(cookie)).status).toBe(401);
});

it.each([
  ['GET', '/api/session'],
  ['GET', '/api/inbox'],
  ['GET', '/api/inbox/events'],
  ['GET', '/api/turns'],
  ['GET', '/api/turns/t'],
  ['GET', '/api/turns/t/events'],
  ['GET', '/api/turns/t/calls/1.1'],
  ['POST', '/api/turns/t/decisions'],
  ['POST', '/api/turns/t/resolutions'],
  ['POST', '/api/turns/t/cancel'],
  ['DELETE', '/api/session'],
  ['GET', '/api/nothing'],
])('%s %s needs a session, and answers before anything else', async (method, path) => {
  const body = method === 'POST' ? { json: {} } : {};
  for (const cookie of ['countersign-7243=guess', 'other=1']) {
    const response = await app().ask(path, { method, cookie, ...body });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: 'signed_out', hint: expect.any(String) });
  }
  expect(app().reported).toEqual([]);
});

it.each([
  [{}],
  [{ token: '' }],
  [{ code: 7 }],
  [{ token: 'a', code: 'b' }],
  [{ token: 'a', user: 'ann' }],
  [[]],
  [null],
])('refuses to sign in with %j', async (json) => {
  expect((await app().ask('/api/session', { json })).status).toBe(400);
});

it('asks for https where the page is not on this machine', async () => {
  const headers = { host: 'inbox.example.com', origin: 'https://inbox.example.com' };
  const response = await app().ask('/api/session', { json: { code: app().codes.draw() }, headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('set-cookie')).toMatch(/^__Host-countersign-inbox=.*; Secure/);
  const cookie = cookieOf(response);
  expect((await app().ask('/api/session', { headers, cookie })).status).toBe(200);
});

it('tells nothing of a mistake of ours to the page, and everything to the terminal', async () => {
  const cookie = await app().signIn();
  const response = await app().ask('/api/inbox', { cookie });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('no server');
  expect(app().reported).toEqual([expect.objectContaining({ message: 'this test has no server' })]);
});
