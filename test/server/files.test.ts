import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SendRequest } from '../../src/client/session/types';
import type { Countersign } from '../../src/client';
import { isObject } from '../../src/contract/json';
import { LIMITS } from '../../src/contract/limits';
import { areFiles } from '../../src/contract/session/files';
import { startWeb, type RunningWeb } from '../../src/server';
import type { SentFile } from '../../src/server/api';
import { createUsers } from '../../src/server/auth/users';
import { createSentFiles } from '../../src/server/files';
import { openFileStore } from '../../src/store';
import { until } from '../support/until';
import { createTestApp, unreachable, useOfflineApp, type AskOptions, type TestApp } from './support';

const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const store = openFileStore(join(folder, 'store'), { env: {} });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What reached a session, of all that was sent. */
const sent: SendRequest[] = [];
const client: Countersign = new Proxy<Countersign>(unreachable(), {
  get: (target, name: keyof Countersign) =>
    name === 'session'
      ? () => ({ send: async (message: SendRequest) => void sent.push(message) })
      : Reflect.get(target, name),
});

let app: TestApp & { remove(): Promise<void> };
let cookie: string;
beforeAll(async () => {
  app = await createTestApp(client, { files: createSentFiles(store) });
  cookie = await app.signIn();
});
afterAll(async () => {
  app.close();
  await app.remove();
});

const BYTES = 'application/octet-stream';
const upload = (body: Uint8Array<ArrayBuffer> | string, name = 'a.txt', more: AskOptions = {}) =>
  app.ask('/api/files', {
    ...{ method: 'POST', cookie, body: typeof body === 'string' ? Uint8Array.from(Buffer.from(body)) : body },
    ...more,
    headers: { 'content-type': BYTES, 'file-name': encodeURIComponent(name), ...more.headers },
  });
const isSent = (value: unknown): value is SentFile =>
  isObject(value) && typeof value['proof'] === 'string' && areFiles([value['file']]);
const sentBy = async (response: Response): Promise<SentFile> => {
  const value: unknown = await response.json();
  if (isSent(value)) return value;
  throw new Error(`not a file: ${JSON.stringify(value)}`);
};
const say = (json: object, more: AskOptions = {}) =>
  app.ask('/api/conversations/s-1/messages', { cookie, json, ...more });
const bearer = (token: string): AskOptions => ({
  cookie: '',
  headers: { authorization: `Bearer ${token}` },
});
const filesStored = (): string[] =>
  existsSync(join(folder, 'store'))
    ? readdirSync(join(folder, 'store'), { recursive: true, encoding: 'utf8' }).filter((one) =>
        /\/\w{64}$/.test(one),
      )
    : [];

test('a file goes to the store, and what stands for it into the message of whoever sent it', async () => {
  const response = await upload('twelve bytes', 'notes.txt');
  expect(response.status).toBe(201);
  const one = await sentBy(response);
  const digest = createHash('sha256').update('twelve bytes').digest('hex');
  const file = { digest, mediaType: 'text/plain', size: 12, name: 'notes.txt' };
  expect(one).toEqual({ file, proof: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(filesStored()).toContain(`${digest.slice(0, 2)}/${digest}`);
  expect((await say({ text: 'look', messageId: 'm-1', files: [one] })).status).toBe(200);
  expect(sent.at(-1)).toMatchObject({ text: 'look', sender: 'owner', files: [file] });
});

test('the same file twice is one file of the store, and fits both messages', async () => {
  const [first, second] = await Promise.all([upload('twice'), upload('twice')]);
  expect([first.status, second.status]).toEqual([201, 201]);
  const [one, other] = [await sentBy(first), await sentBy(second)];
  expect(one).toEqual(other);
  const stored = filesStored().filter((name) => name.endsWith(one.file.digest));
  expect(stored).toHaveLength(1);
});

test.each([
  ['a path that leads out', '../../etc/passwd', 'passwd'],
  ['a path of Windows', 'C:\\secret\\plan.txt', 'plan.txt'],
  ['nothing but dots', '..', '..'],
  ['no name', '', 'file'],
  ['a line end and a header', 'a\r\nSet-Cookie: x=1.txt', 'a__Set-Cookie: x=1.txt'],
  ['an end of text', 'a\u0000.txt', 'a_.txt'],
  ['a mark that turns text around', 'a\u202etxt.exe', 'a_txt.exe'],
  ['letters of another script', 'übersicht 計画.txt', 'übersicht 計画.txt'],
  ['500 letters', `${'x'.repeat(500)}.txt`, `${'x'.repeat(196)}.txt`],
])('of %s only a plain name is kept', async (_what, name, kept) => {
  const one = await sentBy(await upload('x', name));
  expect(one.file.name).toBe(kept);
});

test('what a file is comes from its bytes and its name, never from whoever sends it', async () => {
  const html = '<script>alert(1)</script>';
  const page = await sentBy(await upload(html, 'x.html'));
  expect(page.file.mediaType).toBe('text/html');
  const posing = await sentBy(await upload(html, 'x.png'));
  expect(posing.file.mediaType).toBe('text/plain');
  const claimed = await upload(html, 'x.svg', { headers: { 'content-type': 'image/svg+xml' } });
  expect(claimed.status).toBe(400);
});

test.each(['/api/files', '/api/files/', `/api/files/${'a'.repeat(64)}`])(
  'nothing sends a file out: GET %s',
  async (path) => {
    const response = await app.ask(path, { cookie });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  },
);

test.each<[string, (one: SentFile) => unknown]>([
  ['a digest that somebody claims', ({ file }) => ({ file, proof: 'a'.repeat(64) })],
  ['a digest without a proof', ({ file }) => ({ file })],
  ['an empty proof', ({ file }) => ({ file, proof: '' })],
  [
    'the proof of another digest',
    ({ file, proof }) => ({ file: { ...file, digest: 'b'.repeat(64) }, proof }),
  ],
  ['another kind', ({ file, proof }) => ({ file: { ...file, mediaType: 'image/png' }, proof })],
  ['another name', ({ file, proof }) => ({ file: { ...file, name: 'other.txt' }, proof })],
  ['a digest that is a path', ({ file, proof }) => ({ file: { ...file, digest: '../../x' }, proof })],
  ['bytes in place of what stands for them', ({ proof }) => ({ file: { name: 'a', bytes: [1] }, proof })],
])('a message does not take %s', async (_what, change) => {
  const one = await sentBy(await upload('mine'));
  const before = sent.length;
  const response = await say({ text: 'look', messageId: 'm-2', files: [change(one)] });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: 'usage' });
  expect(sent).toHaveLength(before);
});

test('a message does not take what another user sent, nor one from before a restart', async () => {
  const one = await sentBy(await upload('of the owner'));
  const ann = bearer(await app.users.add('ann', ['converse']));
  const stolen = await say({ text: 'read it to me', messageId: 'm-3', files: [one] }, ann);
  expect(stolen.status).toBe(400);
  expect(await stolen.json()).toMatchObject({
    message: expect.stringContaining('you did not send the file a.txt'),
    hint: expect.stringContaining('attach it again'),
  });
  const anew = createSentFiles(store);
  expect(() => anew?.take('owner', [one])).toThrow(/did not send/);
});

test('a message does not take nine files', async () => {
  const one = await sentBy(await upload('many'));
  const files = Array.from({ length: 9 }, () => one);
  expect((await say({ text: 'look', messageId: 'm-4', files })).status).toBe(400);
});

test.each<[string, number, () => Promise<Response>]>([
  ['a stranger', 401, () => upload('x', 'a.txt', { cookie: '' })],
  [
    'a page of another site',
    403,
    () => upload('x', 'a.txt', { headers: { origin: 'https://evil.example' } }),
  ],
  [
    'a form of another site',
    403,
    () => upload('x', 'a.txt', { headers: { 'sec-fetch-site': 'cross-site' } }),
  ],
  ['a write that does not name its origin', 403, () => upload('x', 'a.txt', { without: ['origin'] })],
  ['who may not write', 403, async () => upload('x', 'a.txt', bearer(await app.users.add('reader')))],
  ['no bytes', 400, () => upload('')],
  [
    'a type that forms can send',
    400,
    () => upload('x', 'a.txt', { headers: { 'content-type': 'text/plain' } }),
  ],
  ['a name that is not encoded', 400, () => upload('x', 'a', { headers: { 'file-name': '%E0%A4%A' } })],
  ['one byte too much', 413, () => upload(new Uint8Array(LIMITS.fileBytes + 1))],
])('%s is refused with %i, and nothing is kept', async (_what, status, send) => {
  const before = filesStored();
  const response = await send();
  expect(response.status).toBe(status);
  expect(filesStored()).toEqual(before);
  expect(app.reported).toEqual([]);
});

test('a file of exactly the limit is taken', async () => {
  const response = await upload(Uint8Array.from(randomBytes(LIMITS.fileBytes)), 'large.bin');
  expect(response.status).toBe(201);
  expect(await response.json()).toMatchObject({ file: { size: LIMITS.fileBytes } });
});

test('a store that cannot be written is said in words', async () => {
  const broken = await createTestApp(client, { files: createSentFiles(openFileStore('/dev/null/x')) });
  try {
    const own = await broken.signIn();
    const response = await broken.ask('/api/files', {
      ...{ method: 'POST', cookie: own, body: Uint8Array.from([1]) },
      headers: { 'content-type': BYTES, 'file-name': 'a' },
    });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      code: 'file_failed',
      message: expect.stringContaining('the store of files cannot be written'),
    });
  } finally {
    await broken.remove();
  }
});

describe('without a store', () => {
  const without = useOfflineApp();

  it('the page knows, and no file is taken', async () => {
    const session = await without.app().ask('/api/session', { cookie: without.cookie() });
    expect(await session.json()).toMatchObject({ takesFiles: false });
    const response = await without.app().ask('/api/files', {
      ...{ method: 'POST', cookie: without.cookie(), body: Uint8Array.from([1]) },
      headers: { 'content-type': BYTES, 'file-name': 'a' },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ hint: expect.stringContaining('COUNTERSIGN_FILES') });
  });
});

describe('on a port', () => {
  let web: RunningWeb;
  let token: string;
  const reported: unknown[] = [];
  beforeAll(async () => {
    const usersFile = join(folder, 'users.json');
    token = await createUsers(usersFile).add('ann', ['converse']);
    web = await startWeb({
      client: new Proxy(client, {
        get: (target, name: keyof Countersign) =>
          name === 'files' ? () => store : Reflect.get(target, name),
      }),
      ...{ usersFile, refusalsFile: join(folder, 'refusals.jsonl'), localUser: 'owner', pageDir: folder },
      ...{ version: '0', port: 0, onLink: () => undefined, report: (error) => void reported.push(error) },
      timeouts: { headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 50 },
    });
  });
  afterAll(() => web.stop());

  const place = (): URL => new URL(web.url);
  const head = (fields: readonly string[], who = token): string =>
    [
      'POST /api/files HTTP/1.1',
      ...[`Host: ${place().host}`, `Authorization: Bearer ${who}`, `Content-Type: ${BYTES}`, 'File-Name: a'],
      ...[...fields, 'Connection: close', '', ''],
    ].join('\r\n');
  /** Opens a request, and gives what the server says. */
  const open = (start: string): { socket: Socket; answer: Promise<string> } => {
    const socket = dial(Number(place().port), place().hostname, () => socket.write(start));
    const answer = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk)));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });
    return { socket, answer };
  };
  const GIGABYTE = 1024 ** 3;

  it('a body of 1 GB is refused by its length alone, before it comes', async () => {
    expect(await open(head([`Content-Length: ${GIGABYTE}`])).answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('a stranger is refused before anything of it comes', async () => {
    expect(await open(head([`Content-Length: ${GIGABYTE}`], 'guess')).answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('a body without a length is read up to the limit, and no further', async () => {
    const { socket, answer } = open(
      head(['Transfer-Encoding: chunked']).replace('Connection: close', 'X-Keep: open'),
    );
    const chunk = Buffer.from(`100000\r\n${'x'.repeat(2 ** 20)}\r\n`);
    let written = 0;
    const write = (): void => {
      while (socket.writable && socket.bytesRead === 0 && written < GIGABYTE) {
        written += chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    // Like a browser it stops once there is an answer.
    socket.on('data', () => socket.end());
    socket.on('drain', write);
    socket.on('connect', write);
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(written).toBeLessThan(GIGABYTE / 2);
  });

  it('a file may come more slowly than any other body', async () => {
    const { socket, answer } = open(head(['Content-Length: 2']) + 'a');
    const other = `POST /api/session HTTP/1.1\r\nHost: ${place().host}\r\nContent-Length: 50\r\n\r\n{`;
    expect(await open(other).answer).not.toMatch(/^HTTP\/1\.1 2/);
    socket.write('b');
    expect(await answer).toMatch(/^HTTP\/1\.1 201 /);
  });

  it('a connection that is cut leaves nothing, and takes no place of a later file', async () => {
    const [before, errors] = [filesStored(), reported.length];
    const cut = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { socket, answer } = open(head(['Content-Length: 1000']) + 'half');
        socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
        return answer;
      }),
    );
    expect(cut).toEqual(['', '', '', '']);
    await until('a place', async () => {
      const { answer } = open(head(['Content-Length: 1']) + 'z');
      return /^HTTP\/1\.1 201 /.test(await answer);
    });
    expect(filesStored()).toHaveLength(before.length + 1);
    expect(reported).toHaveLength(errors);
  });

  it('a fifth file at once is refused unread, and others go on', async () => {
    const open4 = Array.from({ length: 4 }, () => open(head(['Content-Length: 2']) + 'a'));
    const fifth = await until('a refusal', async () => {
      const answer = await open(head(['Content-Length: 1']) + 'z').answer;
      return /^HTTP\/1\.1 429 /.test(answer) && answer;
    });
    expect(fifth).toContain('too_many_attempts');
    for (const { socket } of open4) socket.write('b');
    for (const { answer } of open4) expect(await answer).toMatch(/^HTTP\/1\.1 201 /);
  });
});
