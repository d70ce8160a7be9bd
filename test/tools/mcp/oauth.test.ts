import {
  loginFields,
  oauthReason,
  readScopes,
  requireBearer,
  requireSafe,
  safeFetch,
} from '../../../src/tools/mcp/oauth';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecrets } from '../../../src/tools/secrets';
import { oauthServers } from '../../support/mcp-oauth';
import { account } from './login-support';

const servers = oauthServers();
const PUBLIC = 'https://mcp.example.com/mcp';
const LOCAL = 'http://127.0.0.1:8000/mcp';

it.each([
  ['https://login.example.com/token', PUBLIC, true],
  ['https://login.example.com/token', LOCAL, true],
  ['http://127.0.0.1:1/token', LOCAL, true],
  ['http://localhost:1/token', LOCAL, true],
  ['http://login.example.com/token', PUBLIC, false],
  ['http://127.0.0.1:1/token', PUBLIC, false],
  ['https://10.0.0.1/token', PUBLIC, false],
  ['https://169.254.169.254/latest', PUBLIC, false],
  ['https://localhost/token', PUBLIC, false],
  ['http://127.0.0.1.example.com/token', LOCAL, false],
  ['javascript:alert(1)', LOCAL, false],
  ['/token', LOCAL, false],
])('%s may be asked for %s: %s', (place, url, expected) => {
  const check = (): void => requireSafe(place, account(url));
  if (expected) expect(check).not.toThrow();
  else expect(check).toThrow();
});

it('leaves the token for renewal and the scopes to the login where an answer names none', () => {
  expect(Object.keys(loginFields({ access_token: 'a', token_type: 'Bearer' }))).toEqual(['accessToken']);
});

it('asks no private address for a public server', async () => {
  const { issuer, asked } = await servers.authorization();
  await expect(safeFetch(account(PUBLIC))(`${issuer}/token`)).rejects.toThrow('private address');
  expect(asked).toEqual([]);
});

const leadsTo = (address: string) => async () => [{ address, family: 4 }];

it('asks no name that leads to a private address for a public server', async () => {
  // Where the machine has a proxy, that would be asked.
  process.env['no_proxy'] = '*';
  const fetch = safeFetch(account(PUBLIC), undefined, undefined, leadsTo('127.0.0.1'));
  await expect(fetch('https://login.example.com/token')).rejects.toThrow('private address');
  const own = { ...account(PUBLIC), issuer: 'https://login.example.com' };
  const named = safeFetch(own, undefined, undefined, leadsTo('127.0.0.1'));
  await expect(named('https://login.example.com:1/token')).rejects.toThrow('private address');
  await expect(named('https://login.example.com/token')).rejects.not.toThrow('private address');
});

describe('an answer', () => {
  let server: Server;
  let url: string;
  const asked: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      if (request.url === '/moved') response.writeHead(302, { location: 'http://127.0.0.1:1/x' }).end();
      else if (request.url === '/none') response.writeHead(204).end();
      else if (request.url === '/huge') response.end('x'.repeat(2 ** 20 + 1));
      else
        request
          .setEncoding('utf8')
          .on('data', (body) => response.end(`${request.headers['content-type']} ${body}`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });
  afterAll(() => server.close());
  const ask = (path: string, init?: RequestInit) => safeFetch(account(LOCAL))(`${url}${path}`, init);

  it('comes from the server that was asked, which gets the body', async () => {
    const answer = await ask('/token', { method: 'POST', body: new URLSearchParams({ token: 'a b' }) });
    expect(await answer.text()).toBe('application/x-www-form-urlencoded;charset=UTF-8 token=a+b');
    expect((await ask('/none')).status).toBe(204);
  });

  it('that leads elsewhere is not followed', async () => {
    const answer = await ask('/moved');
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/x']);
    expect(asked.filter((one) => one.endsWith('/moved'))).toHaveLength(1);
  });

  it('that is too long is refused', async () => {
    await expect(ask('/huge')).rejects.toThrow('has more than 1048576 bytes');
  });
});

it('reads scopes, and leaves out what breaks the rules', () => {
  expect(readScopes('read  write read a"b \u202e \n')).toEqual(['read', 'write']);
  expect(readScopes(Array.from({ length: 99 }, (_, at) => `s${at}`).join(' '))).toHaveLength(32);
});

it.each([
  [3600, 3570],
  [10, 5],
])('renews a token of %d s after %d s', (seconds, after) => {
  const before = Date.now();
  const { renewAt = 0, expiresAt = 0 } = loginFields({
    access_token: 'a',
    token_type: 'bearer',
    expires_in: seconds,
  });
  expect(expiresAt - renewAt).toBe((seconds - after) * 1000);
  expect(renewAt).toBeGreaterThanOrEqual(before + after * 1000);
});

it.each([undefined, 0, -1])('knows no end of a token that lives for %s s', (seconds) => {
  const tokens = {
    access_token: 'a',
    token_type: 'bearer',
    ...(seconds === undefined ? {} : { expires_in: seconds }),
  };
  expect(loginFields(tokens)).toEqual({ accessToken: 'a' });
});

it.each([
  ['BEARER', 'abc', true],
  ['DPoP', 'abc', false],
  ['Bearer', 'a b', false],
  ['Bearer', 'a\r\nX: y', false],
  ['Bearer', '', false],
])('a token of the kind %s that is %j can be sent: %s', (token_type, access_token, expected) => {
  const check = (): unknown => requireBearer({ access_token, token_type });
  if (expected) expect(check).not.toThrow();
  else expect(check).toThrow();
});

it('shows no secret that stands in the words of an authorization server', () => {
  const secrets = createSecrets();
  secrets.keep('refresh-0123456789');
  const error = Object.assign(new Error('the token refresh-0123456789 is over'), {
    name: 'OAuthError',
    code: 'invalid_grant',
  });
  expect(oauthReason(error, secrets)).toBe('invalid_grant: the token [redacted] is over');
});
