import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WaitingStep } from '../../src/client/types';
import { startWeb, type RunningWeb, type WebOptions } from '../../src/server';
import { createUsers } from '../../src/server/auth/users';
import { eventsIn, unreachable, useOfflineApp } from './support';

let directory: string;
let open: RunningWeb[];
let links: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-web-'));
  await writeFile(join(directory, 'index.html'), '<!doctype html>');
  [open, links] = [[], []];
});

afterEach(async () => {
  await Promise.all(open.map((web) => web.stop()));
  await rm(directory, { recursive: true, force: true });
});

const usersFile = (): string => join(directory, 'users.json');

const start = async (options: Partial<WebOptions> = {}): Promise<RunningWeb> => {
  const web = await startWeb({
    ...{
      client: unreachable(),
      usersFile: usersFile(),
      localUser: 'owner',
      pageDir: directory,
      version: '0',
    },
    refusalsFile: join(directory, 'refusals.jsonl'),
    onLink: (link) => void links.push(link),
    report: () => undefined,
    ...options,
  });
  open.push(web);
  return web;
};

/** What a server says to these bytes until it hangs up. */
const raw = (web: RunningWeb, bytes: string, then?: (socket: Socket) => void): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(web.url);
    let answer = '';
    const socket = connect(Number(port), hostname, () => {
      socket.write(bytes);
      then?.(socket);
    });
    socket.on('data', (chunk) => (answer += String(chunk)));
    // A server that hangs up in the middle of what is sent is what some of these tests want.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? reject(error) : undefined,
    );
    socket.on('close', () => resolve(answer));
  });

const request = (
  web: RunningWeb,
  line: string,
  headers: string[] = [`Host: ${new URL(web.url).host}`],
): Promise<string> => raw(web, [line, ...headers, 'Connection: close', '', ''].join('\r\n'));

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

describe('where it listens', () => {
  it('is this machine, with a link that signs in once', async () => {
    const web = await start();
    expect(new URL(web.url).hostname).toBe('127.0.0.1');
    const link = web.drawLink() ?? '';
    expect(link).toMatch(new RegExp(`^${web.url}/#code=[\\w-]{43}$`));
    const signIn = (): Promise<Response> =>
      fetch(`${web.url}/api/session`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: JSON.stringify({ code: link.split('=')[1] }),
      });
    expect((await signIn()).status).toBe(200);
    expect(links).toEqual([]);
    expect((await signIn()).status).toBe(401);
    expect(links).toEqual([expect.stringContaining(`${web.url}/#code=`)]);
  });

  it('is another port where the usual one is taken, and an error where the asked one is', async () => {
    const [first, second] = [await start(), await start()];
    expect(first.url).not.toBe(second.url);
    await expect(start({ port: Number(new URL(first.url).port) })).rejects.toMatchObject({
      ...{ code: 'usage', message: expect.stringContaining('the port is taken') },
    });
  });

  it.each(['0.0.0.0', '::', '192.0.2.1'])('is not %s as long as no user has a token', async (host) => {
    await expect(start({ host })).rejects.toMatchObject({
      ...{ code: 'usage', hint: expect.stringContaining('countersign web user') },
    });
  });

  it('is anywhere once a user has one; then no link signs in', async () => {
    const token = await createUsers(usersFile()).add('ann');
    const web = await start({ host: '0.0.0.0', port: 0 });
    expect(web.drawLink()).toBeUndefined();
    const { port } = new URL(web.url);
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${port}/api/session`, { headers });
    expect(await response.json()).toMatchObject({ user: 'ann' });
  });

  it('is nowhere while the users file is open to others', async () => {
    await createUsers(usersFile()).add('ann');
    await chmod(usersFile(), 0o644);
    await expect(start()).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('cannot be an address that this machine does not have', async () => {
    await createUsers(usersFile()).add('ann');
    await expect(start({ host: '192.0.2.1' })).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('what comes over the wire', () => {
  it.each<[string, string[], number[]]>([
    ['no host', [], [400, 403]],
    ['an empty host', ['Host: '], [400, 403]],
    ['another host', ['Host: evil.example'], [403]],
    ['a name that begins like ours', ['Host: localhost.evil.example'], [403]],
    ['our name without our port', ['Host: localhost'], [403]],
    ['two hosts', ['Host: localhost', 'Host: evil.example'], [400, 403]],
    ['a host with a user', ['Host: localhost@evil.example'], [400, 403]],
    ['a host with a path', ['Host: localhost/evil'], [400, 403]],
  ])('with %s is refused', async (_what, headers, expected) => {
    const web = await start();
    expect(expected).toContain(statusOf(await request(web, 'GET /api/session HTTP/1.1', headers)));
    expect(expected).toContain(statusOf(await request(web, 'GET / HTTP/1.1', headers)));
  });

  it.each([
    '/../../../../etc/passwd',
    '/..%2f..%2f..%2fetc/passwd',
    '/%2e%2e/%2e%2e/users.json',
    '/./users.json',
    '/users.json',
    '/\\..\\users.json',
  ])('never reaches a file by %s', async (path) => {
    const web = await start();
    await createUsers(usersFile()).add('ann');
    const answer = await request(web, `GET ${path} HTTP/1.1`);
    expect([400, 404]).toContain(statusOf(answer));
    expect(answer).not.toContain('tokenDigest');
  });

  it('is not read on when it is 100 MB', async () => {
    const web = await start();
    const { host } = new URL(web.url);
    const head = [
      'POST /api/session HTTP/1.1',
      `Host: ${host}`,
      'Content-Type: application/json',
      `Content-Length: ${100 * 1024 * 1024}`,
      'Connection: close',
    ];
    const answer = await raw(web, `${head.join('\r\n')}\r\n\r\n${'x'.repeat(70_000)}`);
    expect(statusOf(answer)).toBe(413);
    const chunked = head.map((line) =>
      line.startsWith('Content-Length') ? 'Transfer-Encoding: chunked' : line,
    );
    const chunk = `100000\r\n${'x'.repeat(2 ** 20)}\r\n`;
    expect(statusOf(await raw(web, `${chunked.join('\r\n')}\r\n\r\n${chunk}${chunk}0\r\n\r\n`))).toBe(413);
  });

  it('is read in parts as it is read whole', async () => {
    const web = await start();
    const head = `POST /api/session HTTP/1.1\r\nHost: ${new URL(web.url).host}\r\nContent-Type: application/json\r\nConnection: close`;
    const bodyOf = (answer: string): string => answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
    const whole = await raw(web, `${head}\r\nContent-Length: 13\r\n\r\n{"code":"no"}`);
    const parts = await raw(
      web,
      `${head}\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"code"\r\n6\r\n:"no"}\r\n0\r\n\r\n`,
    );
    expect(parts).not.toContain('did not come whole');
    expect([statusOf(parts), bodyOf(parts)]).toEqual([statusOf(whole), bodyOf(whole)]);
  });

  it.each([
    ['a head that never ends', 'GET / HTTP/1.1\r\nX-Slow: '],
    [
      'a body that never comes',
      'POST /api/session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
    ],
    [
      'a body in parts that never ends',
      'POST /api/session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n',
    ],
  ])('is cut off after a while when it is %s, and is not reported', async (_what, bytes) => {
    const timeouts = { headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 50 };
    const reported: unknown[] = [];
    const web = await start({ timeouts, report: (error) => void reported.push(error) });
    const answer = await raw(web, bytes.replace('HOST', new URL(web.url).host));
    expect(answer === '' || statusOf(answer) === 408).toBe(true);
    expect(statusOf(await request(web, 'GET / HTTP/1.1'))).toBe(200);
    // The inbox cannot be read in these tests.
    expect(reported.filter((error) => !String(error).includes('this test has no server'))).toEqual([]);
  });

  it.each([
    ['a length beside parts', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 60'],
    ['a list of lengths', 'Content-Length: 2, 60'],
    ['a length with a sign', 'Content-Length: +2'],
    ['parts by another name', 'Transfer-Encoding: xchunked'],
    ['parts before something else', 'Transfer-Encoding: chunked, identity'],
    ['a blank before the colon', 'Content-Length : 2'],
    ['a line that ends without a return', 'X-A: 1\nContent-Length: 2'],
    ['a part whose length is no number', 'Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0'],
  ])('and hides a second request behind %s is refused', async (_case, head) => {
    const web = await start();
    const post = `POST /api/session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n${head}\r\n\r\n{}`;
    const hidden = 'GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n';
    const answer = await raw(web, `${post}${hidden}`.replaceAll('HOST', new URL(web.url).host));
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  });

  it.each([
    ['control characters', '\u0000\u0001\u0002'],
    ['a method alone', 'GET'],
    ['a version that there is not', 'GET / HTTP/9.9\r\n\r\n'],
    ['SSH', 'SSH-2.0-x\r\n'],
    ['a path of 100,000 letters', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`],
  ])('and is not HTTP (%s) harms nothing', async (_case, bytes) => {
    const timeouts = { headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 50 };
    const web = await start({ timeouts });
    await raw(web, bytes);
    expect(statusOf(await request(web, 'GET / HTTP/1.1'))).toBe(200);
  });
});

it('ends open streams when it is stopped', async () => {
  let reads = 0;
  const next = async (): Promise<WaitingStep> => {
    reads++;
    return { items: [], isComplete: true, version: 1, found: [], doubted: [] };
  };
  const read = () => Promise.reject(new Error('no turn is read by itself here'));
  const inboxReader = () => ({ next, read, forget: () => undefined });
  const token = await createUsers(usersFile()).add('ann');
  const pauses = async () => ({ control: 'open' as const, pauses: [] });
  const client = Object.assign(unreachable(), { inboxReader, pauses });
  const web = await start({ client });
  const headers = { authorization: `Bearer ${token}` };
  const stream = eventsIn(await fetch(`${web.url}/api/inbox/events`, { headers }));
  expect((await stream.next()).value).toMatchObject({ event: 'waiting' });
  await web.stop();
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  const after = reads;
  await expect(fetch(web.url)).rejects.toThrow();
  expect(reads).toBe(after);
});

describe('the app', () => {
  const { app, cookie } = useOfflineApp();

  it('is served to anybody, with nothing in it, and can do nothing for anybody else', async () => {
    const response = await app().ask('/');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const csp = response.headers.get('content-security-policy') ?? '';
    expect(csp.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "manifest-src 'self'",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-cache',
    });
  });

  it.each(['identity', 'gzip'])('is not sent again to who has it (%s)', async (encoding) => {
    const headers = { 'accept-encoding': encoding };
    const etag = (await app().ask('/', { headers })).headers.get('etag') ?? '';
    const again = await app().ask('/', { headers: { ...headers, 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cache-control')).toBe('no-cache');
    const other = await app().ask('/', { headers: { ...headers, 'if-none-match': '"older"' } });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag]);
  });

  it.each(['/api/session', '/api/nothing', '/nothing'])('%s is as well protected', async (path) => {
    const { headers } = await app().ask(path);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe(path.startsWith('/api') ? 'no-store' : null);
  });

  it.each([
    '/..%2f..%2fetc/passwd',
    '/..%2f..%2fpackage.json',
    '/%2e%2e/%2e%2e/package.json',
    '/....//....//package.json',
    '/..\\..\\package.json',
    '/app.js/../../package.json',
    '/app.js%00.html',
    '/users.json',
    '/index.html',
    '/.env',
    '//etc/passwd',
    '/static/app.js',
  ])('%s is not a file of the page', async (path) => {
    expect((await app().ask(path)).status).toBe(404);
  });

  it('has no icon where browsers look by themselves, which is not a fault', async () => {
    expect((await app().ask('/favicon.ico')).status).toBe(204);
  });

  describe('stats', () => {
    test.each([
      'limit=0',
      'limit=501',
      'limit=many',
      'since=-1',
      'since=7d',
      'since=1e300',
      'tool=',
      `agent=${'a'.repeat(201)}`,
    ])('stats with %s are refused', async (query) => {
      const response = await app().ask(`/api/stats?${query}`, { cookie: cookie() });
      expect([response.status, await response.json()]).toMatchObject([400, { code: 'usage' }]);
    });

    test('stats are for who is signed in', async () => {
      expect((await app().ask('/api/stats')).status).toBe(401);
    });
  });
});
