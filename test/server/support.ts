import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import { defined } from '../../src/contract/defined';
import type { SignInOptions } from '../../src/server';
import { createApp } from '../../src/server/app';
import { ROUTES, type Routes } from '../../src/server/routes';
import { createOidc } from '../../src/server/auth/oidc';
import { createProxy } from '../../src/server/auth/proxy';
import { createDirectory } from '../../src/server/auth/people';
import { SIGN_IN } from '../../src/server/sign-in-routes';
import { Attempts } from '../../src/server/auth/attempts';
import { type AuthenticatorParts, Authenticator } from '../../src/server/auth/authenticator';
import { Codes } from '../../src/server/auth/codes';
import { SignInSessions } from '../../src/server/auth/sessions';
import { createUsers, type Users } from '../../src/server/auth/users';
import { createErrorFormatter } from '../../src/server/failure';
import { createHosts } from '../../src/server/auth/origin';
import { DecidedReader } from '../../src/server/reading/decided-reader';
import { ShownCalls } from '../../src/server/shown-calls';
import { InboxFeed } from '../../src/server/inbox-feed';
import { RefusalLog } from '../../src/server/refusal-log';
import type { AppDeps, SentFiles } from '../../src/server/deps';
import type { Push } from '../../src/server/push/store';
import { createReaders } from '../../src/server/visible-turns';
import type { Signers } from '../../src/server/signer';
import { StatsReader } from '../../src/server/reading/stats-reader';
import { TextStore } from '../../src/server/streamed-text';

/** Where the tests' web inbox is. */
export const HOST = '127.0.0.1:7243';
export const ORIGIN = `http://${HOST}`;

/** What workers prove to the tests' web inbox. */
export const STREAM_TOKEN = 'the-token-of-the-stream';

/** An app without a port, and what a test turns on it. */
export interface TestApp {
  users: Users;
  codes: Codes;
  /** Milliseconds that are added to the clock of sessions, codes and attempts. */
  clock: { ahead: number };
  /** Links that were drawn because a spent one was used. */
  staleCodes: number[];
  /** Unexpected errors that were reported. */
  reported: unknown[];
  usersFile: string;
  /** Where refused decisions are kept. */
  refusalsFile: string;
  texts: TextStore;
  /** Every route, middleware included. */
  routes: readonly { method: string; path: string }[];
  /** Ends every stream. */
  close(): void;
  /** Asks as our page would, with its cookie where there is one; `headers` are put over it. */
  ask(path: string, options?: AskOptions): Promise<Response>;
  /** Signs in as the person who started the web inbox, and returns the cookie. */
  signIn(): Promise<string>;
}

export interface AskOptions {
  method?: string;
  headers?: Record<string, string>;
  cookie?: string;
  /** Sent as JSON. */
  json?: unknown;
  body?: string | Uint8Array<ArrayBuffer>;
  /** Headers that are left out. */
  without?: string[];
}

interface TestAppOptions {
  signers?: Signers;
  signIn?: SignInOptions;
  files?: SentFiles | undefined;
  people?: AuthenticatorParts['people'];
  push?: Push;
  voters?: AppDeps['voters'];
  /** The routes. @default those of the web inbox */
  routes?: Routes;
  basePath?: string;
  ownPage?: AppDeps['ownPage'];
  /** Milliseconds between two reads of visibility where workers tell of requests. */
  told?: number;
}

const realNow = Date.now;

/** The time of day, which a test sets ahead. */
const clockAhead = (): TestApp['clock'] & { restore(): void } => {
  let by = 0;
  return {
    get ahead() {
      return by;
    },
    set ahead(ms) {
      by = ms;
      jest.spyOn(Date, 'now').mockImplementation(() => realNow() + ms);
    },
    restore: () => void (by > 0 && jest.spyOn(Date, 'now').mockRestore()),
  };
};

/** An app over a web inbox, with a users file of its own. */
export async function createTestApp(
  client: Countersign,
  {
    signers,
    signIn,
    files,
    people,
    push,
    voters,
    ownPage,
    basePath = '',
    routes = ROUTES,
    told = 50,
  }: TestAppOptions = {},
): Promise<TestApp & { remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-inbox-'));
  await writeFile(join(directory, 'index.html'), '<!doctype html><title>inbox</title>');
  const clock = clockAhead();
  const usersFile = join(directory, 'users.json');
  const users = createUsers(usersFile);
  const codes = new Codes();
  const staleCodes: number[] = [];
  const reported: unknown[] = [];
  const closing = new AbortController();
  const formatError = createErrorFormatter((error) => void reported.push(error));
  const local = { codes, user: 'owner', onStale: () => void staleCodes.push(1) };
  const authenticator = new Authenticator({
    users,
    local,
    sessions: new SignInSessions(),
    attempts: new Attempts(),
    ...defined({
      directory: signIn && createDirectory(signIn),
      people: people ?? signIn?.people,
      signInAt: signIn?.oidc && SIGN_IN,
      proxy: signIn?.proxy && createProxy(signIn.proxy),
    }),
  });
  const hosts = createHosts({ host: '127.0.0.1', port: 7243, allowHosts: ['inbox.example.com'] });
  const feed = new InboxFeed({
    ...{ client, formatError, pace: { usual: 50, told, toldOfMany: told }, lingerMs: 0 },
    closing: closing.signal,
  });
  const refusalsFile = join(directory, 'refusals.jsonl');
  const refusals = new RefusalLog({ file: refusalsFile, report: (error) => void reported.push(error) });
  const readerOf = createReaders(client);
  const stats = new StatsReader({ readerOf, refusals });
  const texts = new TextStore('default');
  const app = createApp(
    {
      ...{
        stats,
        refusals,
        decided: new DecidedReader(readerOf),
        shown: new ShownCalls(),
        readerOf,
        texts,
        streamToken: STREAM_TOKEN,
        ...(signers ?? { signer: undefined }),
        files,
        push,
        voters,
        ownPage,
        client,
        authenticator,
        oidc: signIn?.oidc && createOidc(signIn.oidc, signIn.publicUrl),
        hosts,
        feed,
        formatError,
        basePath,
        pageDir: directory,
        version: '1.2.3',
        undoMs: 0,
        closing: closing.signal,
      },
    },
    routes,
  );
  const ask: TestApp['ask'] = async (
    path,
    { method, headers = {}, cookie, json, body, without = [] } = {},
  ) => {
    const sent = json === undefined ? body : JSON.stringify(json);
    const all = {
      ...{ host: HOST, origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
      ...defined({ 'content-type': sent === undefined ? undefined : 'application/json', cookie }),
      ...headers,
    };
    return app.request(`${ORIGIN}${path}`, {
      method: method ?? (sent === undefined ? 'GET' : 'POST'),
      headers: Object.entries(all).filter(([name]) => !without.includes(name)),
      ...defined({ body: sent }),
    });
  };
  return {
    ...{
      users,
      usersFile,
      codes,
      clock,
      staleCodes,
      reported,
      refusalsFile,
      texts,
      routes: app.routes,
      ask,
      close: () => closing.abort(),
    },
    signIn: async () => cookieOf(await ask('/api/session', { json: { code: codes.draw() } })),
    remove: () => {
      clock.restore();
      return rm(directory, { recursive: true, force: true });
    },
  };
}

/** An app that is set up, and the cookie of the person who started it. */
export interface AppInUse {
  app(): TestApp;
  cookie(): string;
}

/** An app for the tests beside this call, one for all of them or one for each. */
export function useApp(client: () => Countersign, per: 'file' | 'test' = 'file'): AppInUse {
  let app: Awaited<ReturnType<typeof createTestApp>>;
  let cookie: string;
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    app = await createTestApp(client());
    cookie = await app.signIn();
  });
  after(async () => {
    app.close();
    await app.remove();
  });
  return { app: () => app, cookie: () => cookie };
}

/** The same over a client that reaches no server: for what must never get that far. */
export function useOfflineApp(per?: 'file' | 'test'): AppInUse {
  return useApp(unreachable, per);
}

/** What needs no server. */
const READY: Readonly<Record<string, unknown>> = { namespace: 'default', files: () => undefined };

/** Whatever is asked of it fails, but for members that a test assigns. */
export function unreachable(): Countersign {
  const refuse = (): never => {
    throw new Error('this test has no server');
  };
  const handler = {
    get: (own: object, name: string): unknown => Reflect.get(own, name) ?? READY[name] ?? refuse,
  };
  return new Proxy<Countersign>(Object.create(null), handler);
}

/** A client of the server of this test run. */
export function testClient(address: string, namespace?: string): Promise<Countersign> {
  return connect({ address, ...defined({ namespace }) });
}

/** What a browser sends back of a `Set-Cookie`. */
export function cookieOf(response: Response): string {
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Server-sent events of a response, one at a time, without the beats. */
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
        if (event === undefined || event === 'beat') continue;
        yield { event, data: JSON.parse(fields.get('data') ?? 'null'), ...defined({ id }) };
      }
    }
  } finally {
    await reader.cancel();
  }
}
