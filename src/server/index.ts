import { requireStreamToken } from '../client/streamed-text';
import { CountersignError } from '../contract/errors';
import type { SendNews, SendText } from '../contract/streamed-text';
import { isLoopback, LOOPBACK_HOST } from '../system/loopback';
import { inUrl, listen, type ListenOptions, readBasePath } from './address';
import { createApp } from './app';
import type { AuthenticatorParts } from './auth/authenticator';
import { Codes } from './auth/codes';
import { openAuthenticator, type SignInOptions } from './auth/open-authenticator';
import { createHosts } from './auth/origin';
import { createUsers } from './auth/users';
import type { AppDeps } from './deps';
import { createErrorFormatter } from './failure';
import { createSentFiles } from './files';
import { DecidedReader } from './reading/decided-reader';
import { InboxFeed } from './inbox-feed';
import { openMetrics } from './monitoring';
import type { Push } from './push/store';
import { RefusalLog } from './refusal-log';
import { createReaders } from './visible-turns';
import { ShownCalls } from './shown-calls';
import { newsFor } from './reading/named-turns';
import type { Signers } from './signer';
import { SIGN_IN } from './sign-in-routes';
import { StatsReader } from './reading/stats-reader';
import { TextStore } from './streamed-text';
import type { Countersign } from '../client/countersign';
import { EVERYTHING } from '../authority/rules/permits';

export type { SignInOptions };

/** How the web inbox is served. */
export interface WebOptions extends Partial<ListenOptions>, Partial<Signers> {
  client: Countersign;
  /** Other host names of the web inbox, such as a reverse proxy's. */
  allowHosts?: readonly string[];
  /** File of the users who may sign in with a token. */
  usersFile: string;
  /** File of refused decisions. */
  refusalsFile: string;
  /** The user that the link signs in: the person who started the web inbox. */
  localUser: string;
  /**
   * The path under which a reverse proxy serves the web inbox, such as `/countersign`. The proxy may keep it in requests
   * or take it away. @default none
   */
  basePath?: string;
  /** Folder of the built page. */
  pageDir: string;
  version: string;
  /**
   * The page holds a decision for this time (milliseconds). Until then, a person can undo it. 0: the page sends it
   * immediately. @default 5000
   */
  undoMs?: number;
  /**
   * The token with which workers may stream the text of models and name changed turns, 16 to 200 characters.
   * @default only workers of this process may
   */
  streamToken?: string;
  /** `host:port` on which Prometheus reads `/metrics`, without signing in. @default none */
  metrics?: string;
  /** The file that says what people may do and see here. @default everybody may do and see everything */
  people?: AuthenticatorParts['people'];
  /** See `AppDeps`. */
  voters?: AppDeps['voters'];
  /** The parts for notifying browsers. @default no browser is notified */
  push?: Push;
  /** The origins of other pages that may use the conversations here. @default none */
  allowOrigins?: readonly string[];
  /** How people of an approvers file sign in. @default by token and link only */
  signIn?: SignInOptions;
  /** Called with a new link when a person opens a link that was already used. */
  onLink(link: string): void;
  /** Called with every unexpected error. */
  report(error: unknown): void;
}

/** A web inbox that is open. */
export interface RunningWeb {
  url: string;
  /** Takes the text that models write from a worker of this process. */
  takeText: SendText;
  /** Takes the news of a worker of this process. */
  takeNews: SendNews;
  /**
   * Makes a link that signs in the person who started the web inbox, once. Undefined if other machines can reach the
   * web inbox.
   */
  drawLink(): string | undefined;
  /** Ends every stream, lets unfinished answers end, and closes the port. */
  stop(): Promise<void>;
}

const UNDO_MS = 5_000;

/**
 * Opens the web inbox.
 *
 * @throws CountersignError `usage`: the port is taken, or other machines could reach it and it has no users;
 * `config_invalid`, also for a token of the stream that could be guessed, or an address of the metrics that cannot be
 * opened.
 */
export async function startWeb({
  host = LOOPBACK_HOST,
  allowHosts = [],
  ...options
}: WebOptions): Promise<RunningWeb> {
  const users = createUsers(options.usersFile);
  const { streamToken } = options;
  if (streamToken !== undefined) requireStreamToken(streamToken, 'COUNTERSIGN_STREAM_TOKEN');
  const basePath = readBasePath(options.basePath);
  const isLocal = isLoopback(host);
  // The file is read even on loopback, so that a users file that others can write is refused now.
  const known = await users.list();
  const { signIn } = options;
  if (!isLocal && known.length === 0 && signIn === undefined)
    throw new CountersignError(
      'usage',
      `the web inbox does not listen on ${host}: other machines reach it, and it has no users`,
      'add a user first: countersign web user <name>',
    );
  const codes = isLocal ? new Codes() : undefined;
  const listening = await listen({ ...options, host });
  const url = `http://${inUrl(host)}:${listening.port}${basePath}`;
  const closing = new AbortController();
  const formatError = createErrorFormatter(options.report);
  const { client, pageDir, version, undoMs = UNDO_MS, push } = options;
  const refusals = new RefusalLog({ file: options.refusalsFile, report: options.report });
  const linkOf = (local: Codes) => `${url}/#code=${local.draw()}`;
  const local = codes && { codes, user: options.localUser, onStale: () => options.onLink(linkOf(codes)) };
  const feed = new InboxFeed({ client, formatError, closing: closing.signal });
  const texts = new TextStore(client.namespace);
  const readerOf = createReaders(client);
  const scraped = await openMetrics(options.metrics, feed).catch(async (error: unknown) => {
    await listening.close();
    throw error;
  });
  // The first read starts now, so that a person who opens the link finds the inbox read.
  void feed.page({}, EVERYTHING).catch(() => undefined);
  listening.serve(
    createApp({
      client,
      basePath,
      pageDir,
      version,
      undoMs,
      formatError,
      push,
      closing: closing.signal,
      hosts: createHosts({
        host,
        port: listening.port,
        allowHosts: [...allowHosts, ...(signIn ? [new URL(signIn.publicUrl).host] : [])],
      }),
      ...openAuthenticator(signIn, {
        users,
        local,
        people: options.people,
        signInAt: signIn?.oidc && basePath + SIGN_IN,
      }),
      ownPage: { allowOrigins: options.allowOrigins, publicUrl: signIn?.publicUrl },
      feed,
      texts,
      streamToken,
      files: createSentFiles(client.files()),
      refusals,
      readerOf,
      ...signersOf(options),
      stats: new StatsReader({ readerOf, refusals }),
      decided: new DecidedReader(readerOf),
    }),
  );
  return {
    url,
    takeText: texts.take,
    takeNews: newsFor(client, feed),
    drawLink: () => codes && linkOf(codes),
    stop: async () => {
      closing.abort();
      await Promise.all([listening.close(), scraped?.close()]);
    },
  };
}

const signersOf = ({
  signer,
  grantSigner,
  passkeys,
  grantPasskeys,
  voters,
}: Pick<WebOptions, 'voters'> & Partial<Signers>): Signers & Pick<AppDeps, 'voters' | 'shown'> => ({
  signer,
  grantSigner,
  passkeys,
  grantPasskeys,
  voters,
  shown: new ShownCalls(),
});
