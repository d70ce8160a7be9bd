import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logOut } from '../../../src/tools/mcp/authorization';
import { loginFile } from '../../../src/tools/mcp/logins';
import { digestDefinition } from '../../../src/tools/mcp/definition';
import type { McpConnection } from '../../../src/tools/mcp/connection';
import { createSecrets } from '../../../src/tools/secrets';
import { ensureBuilt } from '../../support/build';
import { type AuthorizationServer, json, oauthServers, type Pair } from '../../support/mcp-oauth';
import { scratchDirectory } from '../../support/scratch';
import { until } from '../../support/until';
import { account, connected, far, keep, logIn, loginsUnder } from './login-support';
import { always } from './support';

const scratch = scratchDirectory();
loginsUnder(scratch);
const servers = oauthServers();
beforeAll(ensureBuilt);

/** A pair in which somebody is logged in, with a token that ends now. */
const endedLogin = async (): Promise<Pair> => {
  const pair = await servers.pair();
  pair.authorization.lifetime = 0.001;
  await logIn(pair.mcp.url);
  pair.authorization.lifetime = 3600;
  pair.mcp.seen.length = 0;
  return pair;
};

const list = (url: string): Promise<unknown> => connected(far(url), (one) => one.list(always()));

/** What went wrong, as a call would tell it. */
const failureOf = (url: string): Promise<unknown> => list(url).catch((error: unknown) => error);

const LOGIN = 'run `countersign mcp login far`';

const call = async (connection: McpConnection): Promise<unknown> => {
  const [listed] = await connection.list(always());
  if (listed === undefined || !('definition' in listed)) throw new Error('no tool');
  const digest = digestDefinition(listed.definition);
  const what = { tool: 'act', arguments: {}, digest, signal: always(), onProgress: () => undefined };
  return connection.call(what).catch((error: unknown) => error);
};

describe('a server that asks for a login', () => {
  it('fails with the command, sends nothing, and starts no login', async () => {
    const { authorization, mcp } = await servers.pair();
    expect(await failureOf(mcp.url)).toMatchObject({
      name: 'TransportError',
      nothingSent: true,
      retryable: false,
      message: `the MCP server far asks for a login; ${LOGIN}`,
    });
    expect(authorization.asked).toEqual([]);
  });

  it('is asked again by the next call, without a pause', async () => {
    const { mcp } = await servers.pair();
    await connected(far(mcp.url), async (connection) => {
      for (let times = 0; times < 8; times++)
        await expect(connection.list(always())).rejects.toThrow('asks for a login');
      await logIn(mcp.url);
      expect(await connection.list(always())).toHaveLength(1);
    });
  });

  it('gets the header of the config where that has one, and never a token', async () => {
    const { mcp } = await servers.pair();
    await logIn(mcp.url);
    mcp.seen.length = 0;
    const server = far(mcp.url);
    const start = { ...server.start, headers: { authorization: 'Bearer from-the-config' } };
    await expect(connected({ ...server, start }, (one) => one.list(always()))).rejects.toMatchObject({
      message: expect.not.stringContaining('mcp login'),
    });
    expect(new Set(mcp.seen)).toEqual(new Set(['Bearer from-the-config']));
  });

  it('says which scopes it wants, with the command that asks for them', async () => {
    const { mcp } = await servers.pair();
    await logIn(mcp.url);
    mcp.needs = ['write', "a'b"];
    const failure = await connected(far(mcp.url), call);
    expect(failure).toMatchObject({
      nothingSent: true,
      message:
        "the MCP server far asks for the scopes write, a'b; run `countersign mcp login far --scopes write 'a'\\''b'`",
    });
    mcp.needs = ['a\\b'];
    await expect(connected(far(mcp.url), call)).resolves.toMatchObject({
      message: expect.stringContaining('does not say which'),
    });
    mcp.needs = ['write'];
    await logIn(mcp.url, { scopes: ['write'] });
    expect(await connected(far(mcp.url), call)).toMatchObject({ content: [{ text: 'done' }] });
  });
});

describe('a token that has ended', () => {
  it('is renewed before it is sent', async () => {
    const { authorization, mcp } = await endedLogin();
    expect(await list(mcp.url)).toHaveLength(1);
    expect([authorization.refreshes, authorization.reused]).toEqual([1, 0]);
    expect(new Set(mcp.seen).size).toBe(1);
    expect(JSON.parse(readFileSync(loginFile(mcp), 'utf8')).expiresAt).toBeGreaterThan(Date.now());
  });

  it('is renewed once after a 401', async () => {
    const { authorization, mcp } = await servers.pair();
    authorization.lifetime = undefined;
    await logIn(mcp.url);
    authorization.endAll({ keepRefresh: true });
    expect(await list(mcp.url)).toHaveLength(1);
    expect([authorization.refreshes, authorization.reused]).toEqual([1, 0]);
  });

  it('is renewed once by all calls of a worker that come together', async () => {
    const { authorization, mcp } = await endedLogin();
    const listed = await Promise.all(Array.from({ length: 5 }, () => list(mcp.url)));
    expect(listed.map((one) => [one].flat().length)).toEqual([1, 1, 1, 1, 1]);
    expect([authorization.refreshes, authorization.reused]).toEqual([1, 0]);
  });

  it('is renewed once by several processes', async () => {
    const { authorization, mcp } = await endedLogin();
    const callers = Array.from({ length: 4 }, () => startCaller(mcp.url));
    try {
      await Promise.all(callers.map(({ said }) => until('ready', () => said().includes('ready'))));
      holdTokens(authorization, () => callers.every(({ said }) => said().includes('asking')));
      for (const { child } of callers) child.stdin?.write('go\n');
      await Promise.all(callers.map(({ said }) => until('an end', () => /listed|failed/.test(said()))));
      expect(callers.map(({ said }) => said())).toEqual(Array(4).fill('ready\nasking\nlisted 1\n'));
      expect([authorization.refreshes, authorization.reused]).toEqual([1, 0]);
    } finally {
      for (const { child } of callers) child.kill('SIGKILL');
    }
  });

  it('is sent until its real end where it cannot be renewed', async () => {
    const { authorization, mcp } = await servers.pair();
    const login = await logIn(mcp.url);
    keep(account(mcp.url), { ...login, renewAt: 0 });
    authorization.instead['/token'] = (_, response) => json(response, 503, {});
    expect(await list(mcp.url)).toHaveLength(1);
  });
});

const startCaller = (url: string): { child: ChildProcess; said(): string } => {
  const child = spawn(process.execPath, [join(__dirname, '..', '..', 'fixtures', 'mcp-caller.cjs'), url], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Not the one that Node would take: Jest has its own.
    env: process.env,
  });
  let text = '';
  child.stdout?.on('data', (chunk) => (text += String(chunk)));
  return { child, said: () => text };
};

/** Gives no token before all have asked, so that each has seen the old one. */
const holdTokens = (authorization: AuthorizationServer, isTime: () => boolean): void => {
  authorization.instead['/token'] = async (request, response, body) => {
    await until('all to ask', isTime);
    delete authorization.instead['/token'];
    authorization.token(new URLSearchParams(body), request, response);
  };
};

describe('a renewal', () => {
  it('that is refused ends the login; its token is not sent again', async () => {
    const { authorization, mcp } = await endedLogin();
    authorization.endAll();
    const message = expect.stringMatching(/has ended the login \(invalid_grant: .*mcp login far`$/);
    expect(await failureOf(mcp.url)).toMatchObject({ nothingSent: true, message });
    expect(await failureOf(mcp.url)).toMatchObject({
      message: `the MCP server far refuses the login; ${LOGIN}`,
    });
    expect([authorization.refreshes, authorization.reused]).toEqual([1, 0]);
  });

  it.each<[string, string]>([
    ['breaks', 'it answered with an error'],
    ['answers rubbish', 'cannot be understood'],
    ['hangs up', 'the authorization server hung up'],
  ])('at a server that %s can be tried again, and shows no token', async (how, why) => {
    const { authorization, mcp } = await endedLogin();
    authorization.instead['/token'] = (request, response, body) => {
      if (how === 'breaks') return void response.writeHead(500).end(body);
      if (how === 'answers rubbish') return void response.writeHead(200).end(`{"access_token": ${body}`);
      return void request.socket.destroy();
    };
    const failure = await failureOf(mcp.url);
    expect(failure).toMatchObject({
      nothingSent: true,
      retryable: true,
      message: expect.stringContaining(why),
    });
    const { refreshToken } = JSON.parse(readFileSync(loginFile(mcp), 'utf8'));
    expect(String(failure)).not.toContain(refreshToken);
    delete authorization.instead['/token'];
    expect(await list(mcp.url)).toHaveLength(1);
  });

  it('goes to the server of the login, although the MCP server names another one now', async () => {
    const { authorization, mcp } = await endedLogin();
    const other = await servers.authorization();
    mcp.resource = { ...mcp.resource, authorization_servers: [other.issuer] };
    expect(await list(mcp.url)).toHaveLength(1);
    authorization.endAll();
    expect(await failureOf(mcp.url)).toMatchObject({ message: expect.stringContaining('mcp login') });
    expect(other.asked).toEqual([]);
  });

  it('is not made where the config names another authorization server', async () => {
    const { authorization, mcp } = await endedLogin();
    const server = far(mcp.url, { issuer: 'https://other.example' });
    await expect(connected(server, (one) => one.list(always()))).rejects.toThrow('another authorization');
    expect([authorization.refreshes, mcp.seen]).toEqual([0, []]);
  });

  it('sees that somebody has logged out meanwhile', async () => {
    const { authorization, mcp } = await endedLogin();
    const file = loginFile(mcp);
    chmodSync(file, 0o644);
    expect(await failureOf(mcp.url)).toMatchObject({
      nothingSent: true,
      message: expect.stringMatching(/can be read or changed by others; Run `chmod 600/),
    });
    expect([authorization.refreshes, mcp.seen, existsSync(file)]).toEqual([0, [], true]);
  });
});

it('sends a token to no other origin', async () => {
  const { mcp } = await servers.pair();
  const other = await servers.pair();
  const login = await logIn(mcp.url);
  keep(account(other.mcp.url), login);
  expect(await failureOf(other.mcp.url)).toMatchObject({
    message: expect.stringContaining('does not hold its login'),
  });
  expect(other.mcp.seen).toEqual([]);
});

it('takes its tokens out of all that leaves the worker', async () => {
  const { mcp } = await endedLogin();
  await connected(far(mcp.url), async (connection, secrets) => {
    await connection.list(always());
    const { accessToken, refreshToken } = JSON.parse(readFileSync(loginFile(mcp), 'utf8'));
    expect(secrets.hide(`${accessToken} ${refreshToken}`)).toBe('[redacted] [redacted]');
  });
});

describe('logging out', () => {
  it('forgets the login, and ends it where the server offers that', async () => {
    const { authorization, mcp } = await servers.pair();
    const { accessToken, refreshToken } = await logIn(mcp.url);
    expect(await logOut(account(mcp.url), createSecrets())).toEqual({ revoked: 'yes' });
    const revoked = authorization.asked.filter(({ path }) => path === '/revoke');
    expect(revoked.map(({ params }) => params.get('token'))).toEqual([refreshToken, accessToken]);
    expect(existsSync(loginFile(mcp))).toBe(false);
    expect(await logOut(account(mcp.url), createSecrets())).toEqual({ revoked: 'none' });
  });

  it('forgets it all the same where it is not offered, or fails', async () => {
    const { authorization, mcp } = await servers.pair();
    authorization.metadata = { revocation_endpoint: undefined };
    await logIn(mcp.url);
    expect(await logOut(account(mcp.url), createSecrets())).toEqual({ revoked: 'not_offered' });
    authorization.metadata = {};
    await logIn(mcp.url);
    authorization.instead['/revoke'] = (_, response) => json(response, 503, {});
    expect(await logOut(account(mcp.url), createSecrets())).toEqual({
      revoked: 'failed',
      why: 'it answered with the status 503',
    });
    expect(existsSync(loginFile(mcp))).toBe(false);
  });

  it('removes a file that others can read, and sends nothing of it', async () => {
    const { authorization, mcp } = await servers.pair();
    const login = await logIn(mcp.url);
    chmodSync(keep(account(mcp.url), login), 0o644);
    expect(await logOut(account(mcp.url), createSecrets())).toMatchObject({ revoked: 'failed' });
    expect(existsSync(loginFile(mcp))).toBe(false);
    expect(authorization.asked.filter(({ path }) => path === '/revoke')).toEqual([]);
  });
});
