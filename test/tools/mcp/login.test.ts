import { existsSync, readFileSync, statSync } from 'node:fs';
import { loginFile } from '../../../src/tools/mcp/logins';
import { agree, json, oauthServers, type Pair } from '../../support/mcp-oauth';
import { scratchDirectory } from '../../support/scratch';
import { begin, connected, far, logIn, loginsUnder } from './login-support';
import { always } from './support';

const scratch = scratchDirectory();
loginsUnder(scratch);
const servers = oauthServers();

const isKept = (url: string): boolean => existsSync(loginFile({ url }));

describe('a login', () => {
  it('registers a client, proves by PKCE that it asked, and names the server that the token is for', async () => {
    const { authorization, mcp } = await servers.pair();
    const login = await logIn(mcp.url);
    const paths = authorization.asked.map(({ path }) => path);
    expect(paths).toEqual(['/.well-known/oauth-authorization-server', '/register', '/authorize', '/token']);
    const [asked, exchanged] = authorization.asked.slice(2).map(({ params }) => params);
    expect(asked?.get('code_challenge_method')).toBe('S256');
    expect([asked?.get('resource'), exchanged?.get('resource')]).toEqual([mcp.url, mcp.url]);
    expect(asked?.get('state')).toHaveLength(43);
    expect(statSync(loginFile(mcp)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(loginFile(mcp), 'utf8'))).toEqual(login);
    expect(await connected(far(mcp.url), (one) => one.list(always()))).toHaveLength(1);
  });

  it('uses the client of the config and its secret, which it does not keep', async () => {
    const { authorization, mcp } = await servers.pair();
    authorization.metadata = { registration_endpoint: undefined };
    authorization.knowClient('ours', 'value of far-client');
    const oauth = { clientId: 'ours', clientSecret: { secret: 'far-client' }, issuer: authorization.issuer };
    authorization.lifetime = 0.001;
    await logIn(mcp.url, { oauth });
    expect(readFileSync(loginFile({ url: mcp.url, clientId: 'ours' }), 'utf8')).not.toContain('value of');
    authorization.lifetime = 3600;
    expect(await connected(far(mcp.url, oauth), (one) => one.list(always()))).toHaveLength(1);
    expect(authorization.refreshes).toBe(1);
  });

  it('says what to do where no client is registered by itself', async () => {
    const { authorization, mcp } = await servers.pair();
    authorization.metadata = { registration_endpoint: undefined };
    await expect(begin(mcp.url)).rejects.toMatchObject({
      code: 'sign_in_failed',
      hint: expect.stringContaining('oauth: { clientId'),
    });
    expect(isKept(mcp.url)).toBe(false);
  });

  it.each([
    ['the config', { oauth: { scopes: ['read'] }, scopes: ['more'] }, 'read more'],
    ['the server', {}, 'all offline_access'],
    ['the server and the person', { scopes: ['more'] }, 'all offline_access more'],
  ])('asks for the scopes of %s', async (_case, more, expected) => {
    const { authorization, mcp } = await servers.pair();
    authorization.metadata = { scopes_supported: ['offline_access'] };
    mcp.resource = { ...mcp.resource, scopes_supported: ['all'] };
    const { url } = await begin(mcp.url, more);
    expect(new URL(url).searchParams.get('scope')).toBe(expected);
  });

  it('is replaced by the next one', async () => {
    const { mcp } = await servers.pair();
    const first = await logIn(mcp.url);
    const second = await logIn(mcp.url);
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(JSON.parse(readFileSync(loginFile(mcp), 'utf8'))).toEqual(second);
  });

  it('knows its own answers only', async () => {
    const { mcp } = await servers.pair();
    const open = await begin(mcp.url);
    const { searchParams } = await agree(open.url);
    expect(open.isFor(searchParams)).toBe(true);
    for (const state of ['', 'other', `${searchParams.get('state')}x`])
      expect(open.isFor(new URLSearchParams({ code: 'code', state }))).toBe(false);
  });

  it('keeps nothing once it was stopped', async () => {
    const { mcp } = await servers.pair();
    const stop = new AbortController();
    const open = await begin(mcp.url, { stop: stop.signal });
    const { searchParams } = await agree(open.url);
    stop.abort();
    await expect(open.finish(searchParams)).rejects.toMatchObject({ name: 'AbortError' });
    expect(isKept(mcp.url)).toBe(false);
  });
});

describe('a server that is asked how to log in', () => {
  const spoiled = async (spoil: (pair: Pair) => void): Promise<string> => {
    const pair = await servers.pair();
    spoil(pair);
    return pair.mcp.url;
  };

  it('takes the scopes of the challenge before those of the metadata', async () => {
    const { mcp } = await servers.pair();
    mcp.resource = { ...mcp.resource, scopes_supported: ['all'] };
    expect((await begin(mcp.url)).scopes).toEqual(['all']);
    mcp.challenge = 'scope="read write"';
    expect((await begin(mcp.url)).scopes).toEqual(['read', 'write']);
  });

  it.each<[string, (pair: Pair) => void, string]>([
    [
      'metadata at another origin',
      ({ mcp }) => (mcp.challenge = 'resource_metadata="https://other.example/x"'),
      'its metadata is at another server',
    ],
    [
      'tokens for another server',
      ({ mcp }) => (mcp.resource = { ...mcp.resource, resource: 'https://other.example/mcp' }),
      'its tokens are for another server',
    ],
    [
      'tokens for another path',
      ({ mcp }) => (mcp.resource = { ...mcp.resource, resource: `${mcp.url}/tenant` }),
      'its tokens are for another server',
    ],
    [
      'an authorization server that says it is another one',
      ({ authorization }) => (authorization.metadata = { issuer: 'https://other.example' }),
      'not of the authorization server',
    ],
    [
      'an authorization server of a private scheme',
      ({ mcp }) => (mcp.resource = { ...mcp.resource, authorization_servers: ['file:///etc'] }),
      'Invalid URL',
    ],
    [
      'an authorization server without TLS',
      ({ mcp }) => (mcp.resource = { ...mcp.resource, authorization_servers: ['http://other.example'] }),
      'neither https nor on this machine',
    ],
    [
      'a page to agree at without TLS',
      ({ authorization }) => (authorization.metadata = { authorization_endpoint: 'http://other.example/a' }),
      'neither https nor on this machine',
    ],
    [
      'a program as the page to agree at',
      ({ authorization }) => (authorization.metadata = { authorization_endpoint: 'ms-calculator:' }),
      'neither https nor on this machine',
    ],
    [
      'a token endpoint without TLS',
      ({ authorization }) => (authorization.metadata = { token_endpoint: 'http://other.example/t' }),
      'neither https nor on this machine',
    ],
    [
      'an end of logins without TLS',
      ({ authorization }) => (authorization.metadata = { revocation_endpoint: 'http://other.example/t' }),
      'neither https nor on this machine',
    ],
  ])('refuses %s', async (_case, spoil, why) => {
    await expect(begin(await spoiled(spoil))).rejects.toThrow(why);
  });

  it('refuses a server that names no authorization server', async () => {
    const nobody = await spoiled(({ mcp }) => (mcp.resource = undefined));
    await expect(begin(nobody)).rejects.toThrow('names no authorization server');
  });

  it('does not wait for an authorization server that hangs', async () => {
    const url = await spoiled(({ authorization }) => {
      authorization.instead['/.well-known/oauth-authorization-server'] = () => undefined;
    });
    await expect(begin(url, { answerMs: 50 })).rejects.toThrow('did not answer');
  });

  it('reads no endless answer', async () => {
    const url = await spoiled(({ authorization }) => {
      authorization.instead['/.well-known/oauth-authorization-server'] = (_, response) =>
        json(response, 200, { issuer: 'x'.repeat(2 * 1024 * 1024) });
    });
    await expect(begin(url)).rejects.toThrow('more than');
  });
});

describe('an answer', () => {
  it.each<[string, Record<string, string>, string]>([
    [
      'an error',
      { error: 'access_denied', error_description: 'You said no.' },
      'access_denied: You said no.',
    ],
    [
      'words that would move the terminal',
      { error: 'x\u001b[2J', error_description: '\u202ename' },
      'error: ',
    ],
    ['no code', { code: '' }, 'neither a code nor an error'],
    ['another issuer', { iss: 'https://other.example' }, 'not of the authorization server'],
    [
      'another issuer and an error',
      { iss: 'https://other.example', error: 'phish' },
      'not of the authorization',
    ],
    ['no issuer where one was promised', { iss: '' }, 'not of the authorization server'],
    ['a code of somebody else', { code: 'stolen' }, 'invalid_grant'],
  ])('with %s ends the login, and keeps nothing', async (_case, changed, why) => {
    const { mcp } = await servers.pair();
    const open = await begin(mcp.url);
    const { searchParams } = await agree(open.url);
    for (const [name, value] of Object.entries(changed))
      if (value === '') searchParams.delete(name);
      else searchParams.set(name, value);
    const failure = await open.finish(searchParams).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'sign_in_failed', message: expect.stringContaining(why) });
    expect(String(failure)).not.toMatch(/[\u001b\u202e]|phish/);
    expect(isKept(mcp.url)).toBe(false);
  });

  it.each<[string, string | undefined, object | undefined]>([
    ['rubbish', '<p>access-0123456789abcdef', undefined],
    ['another kind of token', undefined, { access_token: 'access-0123456789', token_type: 'mac' }],
    [
      'a token that is no header',
      undefined,
      { access_token: 'access-0123456789\nX: y', token_type: 'bearer' },
    ],
    ['no token', undefined, { token_type: 'bearer' }],
  ])('of the token endpoint with %s keeps nothing and shows nothing of it', async (_case, text, value) => {
    const { authorization, mcp } = await servers.pair();
    authorization.instead['/token'] = (_, response) =>
      void response.setHeader('content-type', 'application/json').end(text ?? JSON.stringify(value));
    const failure = await logIn(mcp.url).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'sign_in_failed' });
    expect(String(failure)).not.toContain('access-');
    expect(isKept(mcp.url)).toBe(false);
  });

  it('that does not come from the token endpoint is not waited for', async () => {
    const { authorization, mcp } = await servers.pair();
    authorization.instead['/token'] = () => undefined;
    const open = await begin(mcp.url, { answerMs: 1_000 });
    const { searchParams } = await agree(open.url);
    await expect(open.finish(searchParams)).rejects.toMatchObject({
      message: expect.stringContaining('did not answer'),
    });
  });

  it('of the token endpoint that leads elsewhere is not followed', async () => {
    const { authorization, mcp } = await servers.pair();
    const other = await servers.authorization();
    authorization.instead['/token'] = (_, response) =>
      void response.writeHead(307, { location: `${other.issuer}/token` }).end();
    await expect(logIn(mcp.url)).rejects.toMatchObject({ code: 'sign_in_failed' });
    expect(other.asked).toEqual([]);
  });
});
