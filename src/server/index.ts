import type { Countersign } from '../client/types';
import { CountersignError } from '../contract/errors';
import { createApp } from './app';
import { createAttempts } from './auth/attempts';
import { createCodes, type Codes } from './auth/codes';
import { createDoor, type DoorParts } from './auth/door';
import { createSessions } from './auth/sessions';
import { createUsers, type Users } from './auth/users';
import { createTell } from './failure';
import { createHosts, inUrl, isLoopback } from './guard/hosts';
import { createFeed } from './inbox/feed';
import { readSnapshot } from './inbox/snapshot';
import { listen, type ListenOptions } from './listen';
import { createRefusalLog } from './refusals/log';
import { createStatsReader } from './stats/reader';

/** How the desk is served. */
export interface WebOptions extends Partial<ListenOptions> {
  desk: Countersign;
  /** Other names that it is reached by, such as a reverse proxy's. */
  allowHosts?: readonly string[];
  /** File of those who may sign in with a token. */
  usersFile: string;
  /** File that keeps which decisions were refused. */
  refusalsFile: string;
  /** Who signs in with the link: the person who started this. */
  localUser: string;
  /** Folder of the built page. */
  pageDir: string;
  version: string;
  /** Given a fresh link when somebody came with one that is spent. */
  onLink(link: string): void;
  /** Given what went wrong here and is nobody's mistake. */
  report(error: unknown): void;
}

/** A desk that is open. */
export interface RunningWeb {
  /** Where it is. */
  url: string;
  /** A link that signs in who started the desk, once; undefined where it is open to other machines. */
  drawLink(): string | undefined;
  /** Ends every stream, lets answers end, and closes. */
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';

/**
 * Opens the desk in the browser.
 *
 * @throws CountersignError `usage`: the port is taken, or other machines could reach a desk that nobody can sign in to;
 * `users_invalid`.
 */
export async function startWeb({
  host = LOOPBACK,
  allowHosts = [],
  ...options
}: WebOptions): Promise<RunningWeb> {
  const users = createUsers(options.usersFile);
  const isLocal = isLoopback(host);
  // Read in any case: a users file that is not to be trusted is told now.
  const known = await users.list();
  if (!isLocal && known.length === 0) throw nobodyCouldSignIn(host);
  const codes = isLocal ? createCodes() : undefined;
  const listening = await listen({ ...options, host });
  const url = `http://${inUrl(host)}:${listening.port}`;
  const closing = new AbortController();
  const tell = createTell(options.report);
  const { desk, pageDir, version } = options;
  const refusals = createRefusalLog({ file: options.refusalsFile, report: options.report });
  const linkOf = (local: Codes): string => `${url}/#code=${local.draw()}`;
  const onStale = (): void => (codes === undefined ? undefined : options.onLink(linkOf(codes)));
  listening.serve(
    createApp({
      ...{ desk, pageDir, version, tell, closing: closing.signal },
      hosts: createHosts({ host, port: listening.port, allowHosts }),
      door: createDoor(doorParts(users, codes, { user: options.localUser, onStale })),
      feed: createFeed({ read: () => readSnapshot(desk), tell }),
      stats: createStatsReader({ desk, refusals }),
      refusals,
    }),
  );
  return {
    url,
    drawLink: () => (codes === undefined ? undefined : linkOf(codes)),
    stop: async () => {
      closing.abort();
      await listening.close();
    },
  };
}

function doorParts(
  users: Users,
  codes: Codes | undefined,
  local: { user: string; onStale(): void },
): DoorParts {
  const parts = { users, sessions: createSessions(), attempts: createAttempts() };
  return codes === undefined ? parts : { ...parts, local: { ...local, codes } };
}

function nobodyCouldSignIn(host: string): CountersignError {
  return new CountersignError(
    'usage',
    `the desk does not listen on ${host}: other machines reach it, and it has no users`,
    {
      hint: 'add somebody first: countersign web user add <name>',
    },
  );
}
