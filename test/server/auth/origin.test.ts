import { createHosts } from '../../../src/server/auth/origin';
import { HOST, ORIGIN, useOfflineApp } from '../support';

const { app, cookie } = useOfflineApp();

/** Headers as a browser would send them; an empty one is left out. */
const asked = (path: string, method: string, headers: Record<string, string>): Promise<Response> =>
  app().ask(path, {
    method,
    cookie: cookie(),
    headers,
    ...(method === 'POST' ? { json: { reason: 'x' } } : {}),
  });

describe.each(['/', '/app.js', '/api/session', '/api/inbox/events'])('GET %s', (path) => {
  it.each([
    'evil.example',
    'localhost.evil.example:7243',
    'evil.example:7243',
    '127.0.0.1',
    '127.0.0.1:80',
    '127.0.0.1:72430',
    '[::1]',
    '[::ffff:127.0.0.1]:7243',
    '0.0.0.0:7243',
    '2130706433:7243',
    'inbox.example.com.evil.example',
    'x@127.0.0.1:7243',
    '',
  ])('refuses the host %j', async (host) => {
    const response = await asked(path, 'GET', { host, origin: `http://${host}` });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 403,
      body: { code: 'not_allowed', message: expect.stringContaining('is not a name of this web inbox') },
    });
  });

  it.each([
    'null',
    'http://localhost:9999',
    'https://evil.example',
    `http://${HOST}.evil.example`,
    'file://',
    '',
  ])('refuses the origin %j', async (origin) => {
    expect((await asked(path, 'GET', { origin })).status).toBe(403);
  });

  it.each(['cross-site', 'same-site', 'anything'])('refuses what a page of %s loads', async (site) => {
    const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' };
    expect((await asked(path, 'GET', headers)).status).toBe(403);
    const framed = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    expect((await asked(path, 'GET', framed)).status).toBe(403);
  });
});

it.each([
  ['localhost:7243'],
  ['LOCALHOST:7243'],
  ['127.0.0.1:7243'],
  ['[::1]:7243'],
  ['inbox.example.com'],
  ['inbox.example.com:7243'],
])('knows the host %s', async (host) => {
  for (const scheme of ['http', 'https'])
    expect((await app().ask('/', { headers: { host, origin: `${scheme}://${host}` } })).status).toBe(200);
});

it('lets a person follow a link from elsewhere, but only to the page', async () => {
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect((await asked('/', 'GET', link)).status).toBe(200);
  expect((await asked('/api/session', 'GET', link)).status).toBe(403);
});

describe('a change', () => {
  const cancel = '/api/turns/t/cancel';

  it.each([
    [
      'a form of another site',
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      403,
      /another origin/,
    ],
    [
      'a form of another port',
      { origin: 'http://127.0.0.1:9999', 'sec-fetch-site': 'same-site' },
      403,
      /another origin/,
    ],
    ['a sandboxed frame', { origin: 'null' }, 403, /another origin/],
    ['plain text', { 'content-type': 'text/plain' }, 400, /has to be application\/json/],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 400, /has to be application\/json/],
    [
      'what only looks like JSON',
      { 'content-type': 'application/jsonp' },
      400,
      /has to be application\/json/,
    ],
    ['no type', { 'content-type': '' }, 400, /has to be application\/json/],
  ])('by %s is refused', async (_by, headers, status, message) => {
    const response = await asked(cancel, 'POST', headers);
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ message: expect.stringMatching(message) }),
    ]);
  });

  it('by cookie has to name its origin; with a token it need not', async () => {
    const { status } = await app().ask(cancel, {
      cookie: cookie(),
      json: {},
      without: ['origin', 'sec-fetch-site'],
    });
    expect(status).toBe(403);
    const authorization = `Bearer ${await app().users.add('script')}`;
    const answer = await app().ask('/api/session', {
      ...{ method: 'DELETE', headers: { authorization }, without: ['origin', 'sec-fetch-site'] },
    });
    expect(answer.status).toBe(204);
  });

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'OPTIONS'])('is never done by %s', async (method) => {
    for (const path of [cancel, '/api/turns/t/decisions', '/api/turns/t/resolutions'])
      expect((await app().ask(path, { method, cookie: cookie() })).status).toBe(404);
  });
});

it('never lets another origin read: no CORS header, whatever is asked', async () => {
  for (const method of ['GET', 'OPTIONS']) {
    const response = await asked('/api/session', method, { origin: ORIGIN });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

it('knows the address it listens on, and no other of a machine that listens on all', () => {
  const place = { port: 7243, allowHosts: [] };
  expect(createHosts({ ...place, host: '192.0.2.1' }).knows('192.0.2.1:7243')).toBe(true);
  expect(createHosts({ ...place, host: 'fe80::1' }).knows('[fe80::1]:7243')).toBe(true);
  expect(createHosts({ ...place, host: '0.0.0.0' }).knows('0.0.0.0:7243')).toBe(false);
  expect(createHosts({ ...place, host: '0.0.0.0' }).knows('192.0.2.1:7243')).toBe(false);
  expect(createHosts({ ...place, port: 80, host: '127.0.0.1' }).knows('localhost')).toBe(true);
});
