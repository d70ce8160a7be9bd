import { cookieOf, offlineDesk, type TestDesk } from '../support';

let desk: TestDesk & { remove(): Promise<void> };
beforeEach(async () => {
  desk = await offlineDesk();
});
afterEach(async () => {
  desk.close();
  await desk.remove();
});

const whoAmI = (cookie?: string, headers?: Record<string, string>): Promise<Response> =>
  desk.ask('/api/session', { ...(cookie === undefined ? {} : { cookie }), ...(headers ? { headers } : {}) });

describe('the link of the terminal', () => {
  it('signs in once, as who started the desk, by a cookie that no script and no other site can use', async () => {
    const code = desk.codes.draw();
    const response = await desk.ask('/api/session', { json: { code } });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ user: 'owner', namespace: 'default', version: '1.2.3' });
    const set = response.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/^countersign-7243=[\w-]{43}; /);
    expect(set).toMatch(/HttpOnly/);
    expect(set).toMatch(/SameSite=Strict/);
    expect(set).toMatch(/Path=\//);
    expect(set).not.toMatch(/Secure|Domain|Expires|Max-Age/);
    expect((await whoAmI(cookieOf(response))).status).toBe(200);
    const again = await desk.ask('/api/session', { json: { code } });
    expect(again.status).toBe(401);
    expect(again.headers.get('set-cookie')).toBeNull();
    expect(desk.staleCodes).toHaveLength(1);
  });

  it('is not drawn anew for whoever only guesses', async () => {
    expect((await desk.ask('/api/session', { json: { code: 'guess' } })).status).toBe(401);
    expect(desk.staleCodes).toEqual([]);
  });

  it('is good for 10 minutes, and its session for 12 hours of idleness', async () => {
    const code = desk.codes.draw();
    const cookie = await desk.signIn();
    desk.clock.ahead = 10 * 60_000;
    expect((await desk.ask('/api/session', { json: { code } })).status).toBe(401);
    desk.clock.ahead += 12 * 3600_000;
    expect((await whoAmI(cookie)).status).toBe(401);
  });
});

describe('a token', () => {
  it('signs in by cookie and goes by header, under its user', async () => {
    const token = await desk.users.add('ann');
    const response = await desk.ask('/api/session', { json: { token } });
    for (const answer of [
      await whoAmI(cookieOf(response)),
      await whoAmI(undefined, { authorization: `Bearer ${token}` }),
      await whoAmI(undefined, { authorization: `bearer ${token}` }),
    ])
      expect(await answer.json()).toMatchObject({ user: 'ann' });
  });

  it('is worth nothing once its user is removed, and so is its session', async () => {
    const token = await desk.users.add('ann');
    const cookie = cookieOf(await desk.ask('/api/session', { json: { token } }));
    await desk.users.remove('ann');
    await desk.users.add('ann');
    expect((await whoAmI(cookie)).status).toBe(401);
    expect((await whoAmI(undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
  });

  it.each(['token', 'access_token', 'code', 'authorization', 'session'])(
    'in the address as %s is never looked at',
    async (name) => {
      const token = await desk.users.add('ann');
      const code = desk.codes.draw();
      for (const secret of [token, code])
        expect((await desk.ask(`/api/session?${name}=${secret}`)).status).toBe(401);
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
    expect((await desk.ask('/api/session', { json: { token: `guess ${n}` } })).status).toBe(401);
  const blocked = await desk.ask('/api/session', { json: { code: desk.codes.draw() } });
  expect(blocked.status).toBe(429);
  expect(await blocked.json()).toMatchObject({ code: 'too_many_attempts' });
  const bearer = (token: string): Promise<Response> =>
    desk.ask('/api/session', { headers: { authorization: `Bearer ${token}` } });
  expect((await bearer('guess')).status).toBe(429);
  expect((await bearer(await desk.users.add('ann'))).status).toBe(200);
  desk.clock.ahead = 60_000;
  expect((await desk.ask('/api/session', { json: { code: desk.codes.draw() } })).status).toBe(200);
});

it('signs out', async () => {
  const cookie = await desk.signIn();
  const response = await desk.ask('/api/session', { method: 'DELETE', cookie });
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
    const response = await desk.ask(path, { method, cookie, ...body });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: 'signed_out', hint: expect.any(String) });
  }
  expect(desk.reported).toEqual([]);
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
  expect((await desk.ask('/api/session', { json })).status).toBe(400);
});

it('asks for https where the page is not on this machine', async () => {
  const headers = { host: 'desk.example.com', origin: 'https://desk.example.com' };
  const response = await desk.ask('/api/session', { json: { code: desk.codes.draw() }, headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('set-cookie')).toMatch(/^__Host-countersign-desk=.*; Secure/);
  const cookie = cookieOf(response);
  expect((await desk.ask('/api/session', { headers, cookie })).status).toBe(200);
});

it('tells nothing of a mistake of ours to the page, and everything to the terminal', async () => {
  const cookie = await desk.signIn();
  const response = await desk.ask('/api/inbox', { cookie });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('no server');
  expect(desk.reported).toEqual([expect.objectContaining({ message: 'this test has no server' })]);
});
