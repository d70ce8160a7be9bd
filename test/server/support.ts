import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import { createApp } from '../../src/server/app';
import { createAttempts } from '../../src/server/auth/attempts';
import { createCodes, type Codes } from '../../src/server/auth/codes';
import { createDoor } from '../../src/server/auth/door';
import { createSessions } from '../../src/server/auth/sessions';
import { createUsers, type Users } from '../../src/server/auth/users';
import { createTell } from '../../src/server/failure';
import { createHosts } from '../../src/server/guard/hosts';
import { createFeed } from '../../src/server/inbox/feed';
import { readSnapshot } from '../../src/server/inbox/snapshot';
import { createRefusalLog } from '../../src/server/refusals/log';
import { createStatsReader } from '../../src/server/stats/reader';

/** Where the tests' desk is. */
export const HOST = '127.0.0.1:7243';
export const ORIGIN = `http://${HOST}`;

/** An app without a port, and what a test turns on it. */
export interface TestDesk {
  users: Users;
  codes: Codes;
  /** Milliseconds that are added to the clock of sessions, codes and attempts. */
  clock: { ahead: number };
  /** Links that were drawn because a spent one was used. */
  staleCodes: number[];
  /** What was told as a mistake of ours. */
  reported: unknown[];
  /** Where refused decisions are kept. */
  refusalsFile: string;
  /** Ends every stream. */
  close(): void;
  /** Asks as our page would, with its cookie where there is one; `headers` are put over it. */
  ask(path: string, options?: AskOptions): Promise<Response>;
  /** Signs in as the person who started the desk, and returns the cookie. */
  signIn(): Promise<string>;
}

export interface AskOptions {
  method?: string;
  headers?: Record<string, string>;
  cookie?: string;
  /** Sent as JSON. */
  json?: unknown;
  body?: string;
  /** Headers that are left out. */
  without?: string[];
}

/** An app over a desk, with a users file of its own. */
export async function testDesk(desk: Countersign): Promise<TestDesk & { remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-desk-'));
  await writeFile(join(directory, 'index.html'), '<!doctype html><title>desk</title>');
  const clock = { ahead: 0 };
  const now = (): number => Date.now() + clock.ahead;
  const users = createUsers(join(directory, 'users.json'));
  const codes = createCodes(now);
  const staleCodes: number[] = [];
  const reported: unknown[] = [];
  const closing = new AbortController();
  const tell = createTell((error) => void reported.push(error));
  const local = { codes, user: 'owner', onStale: () => void staleCodes.push(1) };
  const door = createDoor({ users, local, sessions: createSessions(now), attempts: createAttempts(now) });
  const hosts = createHosts({ host: '127.0.0.1', port: 7243, allowHosts: ['desk.example.com'] });
  const feed = createFeed({ read: () => readSnapshot(desk), tell, paceMs: 50 });
  const refusalsFile = join(directory, 'refusals.jsonl');
  const refusals = createRefusalLog({ file: refusalsFile, report: (error) => void reported.push(error) });
  const stats = createStatsReader({ desk, refusals });
  const app = createApp({
    ...{
      stats,
      refusals,
      desk,
      door,
      hosts,
      feed,
      tell,
      pageDir: directory,
      version: '1.2.3',
      closing: closing.signal,
    },
  });
  const ask: TestDesk['ask'] = async (
    path,
    { method, headers = {}, cookie, json, body, without = [] } = {},
  ) => {
    const sent = json === undefined ? body : JSON.stringify(json);
    const all = {
      ...{ host: HOST, origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
      ...headers,
    };
    return app.request(`${ORIGIN}${path}`, {
      method: method ?? (sent === undefined ? 'GET' : 'POST'),
      headers: Object.entries(all).filter(([name]) => !without.includes(name)),
      ...(sent === undefined ? {} : { body: sent }),
    });
  };
  return {
    ...{ users, codes, clock, staleCodes, reported, refusalsFile, ask, close: () => closing.abort() },
    signIn: async () => cookieOf(await ask('/api/session', { json: { code: codes.draw() } })),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** A desk over a client that reaches no server: for what must never get that far. */
export async function offlineDesk(): Promise<TestDesk & { remove(): Promise<void> }> {
  return testDesk(unreachable());
}

/** Whatever is asked of it fails. */
export function unreachable(): Countersign {
  const refuse = (): never => {
    throw new Error('this test has no server');
  };
  const handler = { get: (_: object, name: string) => (name === 'namespace' ? 'default' : refuse) };
  return new Proxy<Countersign>(Object.create(null), handler);
}

/** A client of the server of this test run. */
export function testClient(address: string): Promise<Countersign> {
  return connect({ address });
}

/** What a browser sends back of a `Set-Cookie`. */
export function cookieOf(response: Response): string {
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Server-sent events of a response, one at a time. */
export async function* eventsIn(
  response: Response,
): AsyncGenerator<{ event: string; id?: string; data: unknown }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = new Map(
          block.split('\n').map((line) => [line.split(':')[0], line.replace(/^\w*: ?/, '')]),
        );
        const event = fields.get('event');
        const id = fields.get('id');
        if (event === undefined) continue;
        yield { event, data: JSON.parse(fields.get('data') ?? 'null'), ...(id === undefined ? {} : { id }) };
      }
    }
  } finally {
    await reader.cancel();
  }
}
