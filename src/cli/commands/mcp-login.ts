import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Command } from 'commander';
import { CountersignError, errnoOf, usageError } from '../../contract/errors';
import { LOOPBACK_HOST } from '../../system/loopback';
import { logOut } from '../../tools/mcp/authorization';
import { type McpHttpStart, usesLogin } from '../../tools/mcp/declare';
import { beginLogin, type OpenLogin } from '../../tools/mcp/login';
import { type LoginAccount, type Login, loginFile } from '../../tools/mcp/logins';
import { readScopes } from '../../tools/mcp/oauth';
import { accountOf, valuesIn } from '../../tools/mcp/reach';
import { createSecrets, type Secrets } from '../../tools/secrets';
import { unlessAborted } from '../../tools/wait-within';
import type { Context } from '../context';
import { withFileErrors } from '../../system/named-files';
import { refuseOptions } from '../flags';
import { loadConfig } from '../load-config';
import { checkMcpStart, type McpOptions, namedServers } from '../mcp-servers';
import { escapeText } from '../../contract/text/escape';
import { canAsk, Interrupted, type Terminal, withTerminal } from '../review/terminal';
import { takeStopSignals } from '../stop-signals';

interface LoginOptions extends McpOptions {
  browser: boolean;
  scopes?: string[];
  forget?: boolean;
}

/** `mcp login`. */
export function addLogin(mcp: Command, context: Context): void {
  mcp
    .command('login <server>')
    .description('log in to a server over HTTP, for the workers of this user on this machine')
    .option('--no-browser', 'print the address to open, and open no browser')
    .option('--scopes <scopes...>', 'ask for these scopes, too')
    .option('--forget', 'instead: forget the login, and end it at its issuer if that offers it')
    .action((name: string, options: LoginOptions) => {
      const all = { ...options, ...mcp.opts<McpOptions>() };
      if (options.forget !== true) return login(name, all, context);
      refuseOptions({ scopes: options.scopes }, 'and --forget exclude each other');
      return logout(name, all, context);
    });
}

/** The time that a person has to agree, in milliseconds. */
const AGREE_MS = 5 * 60_000;

async function login(name: string, options: LoginOptions, context: Context) {
  const place = await placeOf(name, options);
  const { account } = place;
  const stop = takeStopSignals(() => undefined);
  const late = AbortSignal.timeout(AGREE_MS);
  try {
    const signal = AbortSignal.any([stop.signal, late]);
    const done = await withRedirect(place.start.oauth?.callbackPort, (redirect) =>
      logIn(place, { options, context, redirect, signal }),
    );
    report(done, account, context);
  } catch (error) {
    if (stop.signal.aborted || error instanceof Interrupted) throw new Interrupted('nobody was logged in');
    if (!late.aborted) throw error;
    throw new CountersignError('sign_in_failed', `logging in to ${name} failed: nobody agreed in 5 minutes`);
  } finally {
    stop.release();
  }
}

interface Place {
  account: LoginAccount;
  start: McpHttpStart;
  secrets: Secrets;
}

/** @throws CountersignError if nobody can log in to the server. */
async function placeOf(name: string, { config: file }: McpOptions): Promise<Place> {
  const { config } = await loadConfig(file);
  const [named] = await namedServers(config, name);
  const start = named?.server.start;
  if (start?.kind !== 'http')
    throw new CountersignError(
      'usage',
      `${name} runs on this machine: there is nothing to log in to`,
      'Only servers with a `url` have logins.',
    );
  if (!usesLogin(start))
    throw new CountersignError(
      'usage',
      `the config gives ${name} its own Authorization header`,
      'Remove it from `headers` to log in instead.',
    );
  checkMcpStart(name, start);
  const secrets = createSecrets(config.secrets);
  return { account: accountOf(name, start, secrets), start, secrets };
}

interface LogIn {
  options: LoginOptions;
  context: Context;
  redirect: Redirect;
  signal: AbortSignal;
}

async function logIn(
  { account, start, secrets }: Place,
  { options, context, redirect, signal }: LogIn,
): Promise<Login> {
  const { screen, keyboard } = context;
  const scopes = (options.scopes ?? []).flatMap(scopesIn);
  const headers = await valuesIn(start.headers, { secrets, signal });
  const { oauth = {} } = start;
  const request = { account, headers, oauth, scopes, redirectUrl: redirect.url, secrets, stop: signal };
  const open = await beginLogin(request);
  screen.note(`Agree at ${escapeText(open.issuer)}; this ends after 5 minutes:`);
  screen.note(`  ${screen.style.link(escapeText(open.url))}`);
  if (options.browser) openBrowser(open.url, context);
  const coming = unlessAborted(redirect.answerTo(open), signal);
  const answer =
    options.browser || !canAsk(keyboard)
      ? await coming
      : await withTerminal(keyboard, '', (terminal) =>
          Promise.race([coming, typedAnswer(open, terminal, context)]),
        );
  return open.finish(answer);
}

function scopesIn(text: string): string[] {
  const scopes = readScopes(text);
  if (scopes.join(' ') === text) return scopes;
  throw usageError(`--scopes: ${JSON.stringify(text)} is not a scope`, 'Write --scopes read write.');
}

/**
 * Asks for the last address of the browser. In a browser on another machine the redirect leads nowhere, but the address
 * has the answer.
 */
async function typedAnswer(
  open: OpenLogin,
  terminal: Terminal,
  { screen }: Context,
): Promise<URLSearchParams> {
  for (;;) {
    const line = (await terminal.ask('Or paste here the address where the browser ended: ')).trim();
    const answer = URL.canParse(line) ? new URL(line).searchParams : undefined;
    if (answer && open.isFor(answer)) return answer;
    screen.note('That is not the address of this login.');
  }
}

function openBrowser(url: string, { env, screen }: Context) {
  const [program, ...before] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...before, url], { stdio: 'ignore', detached: true, env });
  child.once('error', () => screen.note('No browser could be opened: open the address yourself.'));
  child.unref();
}

/** Programs that open an address without a shell in between. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

function report(
  { issuer, scopes = [], expiresAt, refreshToken }: Login,
  account: LoginAccount,
  { print, typed }: Context,
) {
  const file = loginFile(account);
  const expires = expiresAt === undefined ? null : new Date(expiresAt).toISOString();
  const isRenewed = refreshToken !== undefined;
  const asked = scopes.length === 0 ? '' : `, with ${scopes.map((scope) => escapeText(scope)).join(', ')}`;
  print(
    {
      server: account.name,
      issuer,
      scopes,
      expiresAt: expires,
      renewed: isRenewed,
      file,
    },
    () => [
      `Logged in to ${escapeText(account.name)} at ${escapeText(issuer)}${asked}.`,
      ...(isRenewed || expires === null ? [] : [`The server renews nothing: the login ends at ${expires}.`]),
      typed('Workers of this user use it at once. `countersign mcp test` tells whether the server does.'),
    ],
  );
}

async function logout(name: string, options: McpOptions, { print }: Context) {
  const { account, secrets } = await placeOf(name, options);
  const found = await withFileErrors(`removing ${loginFile(account)}`, () => logOut(account, secrets));
  print({ server: name, ...found }, () => [`${escapeText(name)}: ${logoutText(found)}`]);
}

function logoutText({ revoked, why = '' }: Awaited<ReturnType<typeof logOut>>) {
  switch (revoked) {
    case 'none':
      return 'nobody was logged in.';
    case 'yes':
      return 'the login is forgotten here and ended there.';
    case 'not_offered':
      return 'the login is forgotten here. The authorization server does not offer to end it.';
    case 'failed':
      return `the login is forgotten here. Whether it has ended there is unknown: ${escapeText(why)}.`;
  }
}

/** The address to which the browser brings the answer. */
interface Redirect {
  url: string;
  answerTo(open: OpenLogin): Promise<URLSearchParams>;
}

const PATH = '/callback';

/** Listens on the loopback address, as long as a login is open. An answer that belongs to another login changes nothing. */
async function withRedirect<T>(port = 0, use: (redirect: Redirect) => Promise<T>): Promise<T> {
  let open: OpenLogin | undefined;
  let take: (answer: URLSearchParams) => void = () => undefined;
  const answered = new Promise<URLSearchParams>((resolve) => (take = resolve));
  const server = createServer((request, response) => {
    const answer = answerIn(request, url);
    if (answer === undefined) return reply(response, 404, 'There is nothing here.');
    if (open?.isFor(answer) !== true) return reply(response, 400, 'This is not the answer to an open login.');
    response.once('close', () => take(answer));
    return reply(response, 200, 'Countersign has the answer. Go back to the terminal.');
  });
  await listen(server.listen(port, LOOPBACK_HOST), port);
  const bound = server.address();
  const url = `http://${LOOPBACK_HOST}:${typeof bound === 'object' ? bound?.port : port}${PATH}`;
  try {
    const answerTo = (one: OpenLogin) => {
      open = one;
      return answered;
    };
    return await use({ url, answerTo });
  } finally {
    server.close().closeAllConnections();
  }
}

async function listen(server: ReturnType<typeof createServer>, port: number) {
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CountersignError(
      'sign_in_failed',
      `nothing can listen at the port ${port}: ${errnoOf(error)}`,
      'Free it, or name another one in `oauth.callbackPort`.',
    );
  }
}

/**
 * The answer in a request. Undefined for another path or method, and for any other host name that leads to this
 * machine.
 */
function answerIn({ method, url = '', headers }: IncomingMessage, own: string): URLSearchParams | undefined {
  const target = URL.canParse(url, own) ? new URL(url, own) : undefined;
  const isOurs = method === 'GET' && headers.host === new URL(own).host && target?.pathname === PATH;
  return isOurs ? target?.searchParams : undefined;
}

function reply(response: ServerResponse, status: number, text: string) {
  response
    .writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    })
    .end(`${text}\n`);
}
