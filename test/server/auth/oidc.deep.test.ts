import { createServer } from 'node:net';
import { once } from 'node:events';
import { createOidc, groupsIn, joinClaims, type Oidc } from '../../../src/server/auth/oidc';
import { freePorts } from '../../../src/engine/server-args';
import { CLIENT, type Rogue, type RunningProvider, startProvider, startRogue } from '../../support/oidc';
import { base64url } from 'jose';

const PUBLIC = 'https://inbox.example.com';
const CALLBACK = `${PUBLIC}/sign-in/done`;
const idToken: unknown = expect.any(String);
const refusal = (words: RegExp, code = 'sign_in_failed') =>
  expect.objectContaining({ code, message: expect.stringMatching(words), hint: expect.any(String) });
const STALE = refusal(/was used before/);
const CLOCK = refusal(/too old or from the future/);
const TOKEN = refusal(/id token is not accepted/);
const UNREACHABLE = refusal(/cannot be reached/, 'server_failed');

describe('at a real provider', () => {
  let provider: RunningProvider;
  let oidc: Oidc;
  beforeAll(async () => {
    provider = await startProvider(CALLBACK);
    oidc = createOidc({ issuer: provider.issuer, ...CLIENT }, PUBLIC);
  });
  afterAll(() => provider.stop());

  const come = async (as: string, act?: 'agree' | 'deny') => {
    const { url, secret } = await oidc.begin();
    const back = await provider.visit(url, as, act);
    expect(back).toMatch(`${CALLBACK}?`);
    return { secret, query: new URL(back).search };
  };

  it('signs in with code, PKCE, state and nonce, and takes mail and groups where the issuer says them', async () => {
    const { url } = await oidc.begin();
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: CALLBACK, client_id: 'inbox' },
      ...{ state: expect.stringMatching(/^[\w-]{43}$/), nonce: expect.stringMatching(/^[\w-]{43}$/) },
    });
    const { query, secret } = await come('anna');
    expect(await oidc.finish(query, secret)).toEqual({
      ...{ subject: 'anna', mail: 'anna@example.com', groups: ['support', 'finance'] },
      idToken,
    });
  });

  it('takes no mail that is not verified', async () => {
    const { query, secret } = await come('anna+unverified');
    expect(await oidc.finish(query, secret)).toEqual({
      ...{ subject: 'anna+unverified', groups: ['support', 'finance'] },
      idToken,
    });
  });

  it('takes a state once, even of two at the same moment', async () => {
    const { query, secret } = await come('anna');
    const both = await Promise.allSettled([oidc.finish(query, secret), oidc.finish(query, secret)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(oidc.finish(query, secret)).rejects.toEqual(STALE);
  });

  it('takes a code once, though it comes with a new state', async () => {
    const first = await come('anna');
    await oidc.finish(first.query, first.secret);
    const second = await come('anna');
    const query = new URLSearchParams(second.query);
    query.set('code', new URLSearchParams(first.query).get('code') ?? '');
    await expect(oidc.finish(`?${query}`, second.secret)).rejects.toEqual(STALE);
  });

  it.each([
    ['no cookie', undefined],
    ["another browser's cookie", 'guess'],
  ])('takes no answer with %s, and keeps the sign-in for its own browser', async (_case, other) => {
    const { query, secret } = await come('anna');
    await expect(oidc.finish(query, other)).rejects.toEqual(STALE);
    expect(await oidc.finish(query, secret)).toMatchObject({ subject: 'anna' });
  });

  it.each(['', '?code=x', '?state=', '?state=guess&code=x', '?error=access_denied'])(
    'takes no answer that nobody waits for: %j',
    async (query) => {
      await expect(oidc.finish(query, 'guess')).rejects.toEqual(STALE);
    },
  );

  it('says that the person denied it', async () => {
    const { query, secret } = await come('anna', 'deny');
    await expect(oidc.finish(query, secret)).rejects.toEqual(
      expect.objectContaining({ code: 'sign_in_failed', message: 'the sign-in was denied' }),
    );
  });

  it('says that the client is not the one that the issuer knows, and not its secret', async () => {
    const other = createOidc({ issuer: provider.issuer, clientId: 'inbox', clientSecret: 'wr0ng' }, PUBLIC);
    const { url, secret } = await other.begin();
    const back = await provider.visit(url, 'anna');
    const error: unknown = await other
      .finish(new URL(back).search, secret)
      .catch((thrown: unknown) => thrown);
    expect(error).toEqual(
      expect.objectContaining({
        code: 'sign_in_failed',
        message: 'the issuer refused the sign-in: invalid_client',
      }),
    );
    expect(error).not.toHaveProperty('cause', expect.anything());
    expect(JSON.stringify(error)).not.toContain('wr0ng');
  });

  it('keeps a sign-in, however many others begin after it', async () => {
    const { query, secret } = await come('anna');
    for (let others = 0; others < 10_001; others += 1) await oidc.begin();
    expect(await oidc.finish(query, secret)).toMatchObject({ subject: 'anna' });
  });

  it.each<[string, (secret: string) => string]>([
    ['with a later time', (secret) => secret.replace(/\d+$/, (at) => String(Number(at) + 60_000))],
    ['without its time', (secret) => secret.replace(/\.\d+$/, '')],
    ['of another installation', () => `${'A'.repeat(43)}.${Date.now()}`],
  ])('takes no cookie %s', async (_case, change) => {
    const { query, secret } = await come('anna');
    await expect(oidc.finish(query, change(secret))).rejects.toEqual(STALE);
  });

  it('takes no cookie that another web inbox made', async () => {
    const { query, secret } = await come('anna');
    const other = createOidc({ issuer: provider.issuer, ...CLIENT }, PUBLIC);
    await expect(other.finish(query, secret)).rejects.toEqual(STALE);
  });

  it('forgets a sign-in after 10 minutes', async () => {
    let ahead = 0;
    const own = createOidc({ issuer: provider.issuer, ...CLIENT }, PUBLIC, () => Date.now() + ahead);
    const { url, secret } = await own.begin();
    const back = await provider.visit(url, 'anna');
    ahead = 600_000;
    await expect(own.finish(new URL(back).search, secret)).rejects.toEqual(STALE);
  });

  it.each([-600, 600])('says that the clocks differ where this one is wrong by %d s', async (seconds) => {
    const own = createOidc({ issuer: provider.issuer, ...CLIENT }, PUBLIC, () => Date.now() + seconds * 1000);
    const { url, secret } = await own.begin();
    const back = await provider.visit(url, 'anna');
    await expect(own.finish(new URL(back).search, secret)).rejects.toEqual(CLOCK);
  });
});

describe('at an issuer that answers wrongly', () => {
  let rogue: Rogue;
  let oidc: Oidc;
  beforeAll(async () => {
    rogue = await startRogue();
    oidc = createOidc({ issuer: rogue.issuer, ...CLIENT }, PUBLIC);
  });
  afterAll(() => rogue.stop());
  beforeEach(() => {
    rogue.claims = {};
    rogue.metadata = {};
    rogue.sign = undefined;
  });

  const finish = async () => {
    const { url, secret } = await oidc.begin();
    const asked = new URL(url).searchParams;
    const query = new URLSearchParams({ code: asked.get('nonce') ?? '', state: asked.get('state') ?? '' });
    return oidc.finish(`?${query}`, secret);
  };
  const now = (): number => Math.floor(Date.now() / 1000);

  it('takes the token as it should be', async () => {
    expect(await finish()).toEqual({ subject: 'anna', mail: 'anna@example.com', groups: [], idToken });
  });

  it.each<[string, () => Record<string, unknown>, unknown]>([
    ['another nonce', () => ({ nonce: 'replayed' }), TOKEN],
    ['no nonce', () => ({ nonce: undefined }), TOKEN],
    ['another client', () => ({ aud: 'another-client' }), TOKEN],
    ['two clients, none of which may use it', () => ({ aud: ['inbox', 'x'], azp: 'x' }), TOKEN],
    ['another issuer', () => ({ iss: 'http://127.0.0.1:1' }), TOKEN],
    ['no subject', () => ({ sub: '' }), TOKEN],
    ['an end a minute ago', () => ({ exp: now() - 60 }), CLOCK],
    ['a start in ten minutes', () => ({ nbf: now() + 600 }), CLOCK],
    ['a date in ten minutes', () => ({ iat: now() + 600 }), CLOCK],
    ['a date ten minutes ago', () => ({ iat: now() - 600 }), CLOCK],
  ])('refuses a token with %s', async (_case, claims, error) => {
    rogue.claims = claims();
    await expect(finish()).rejects.toEqual(error);
  });

  it.each<[string, () => Rogue['sign']]>([
    ['signed with a key that it does not publish', () => rogue.forged],
    ['without a signature', () => unsigned],
    ['with a part missing', () => async (content) => (await rogue.signed(content)).split('.')[1] ?? ''],
    ['of another content than was signed', () => swapped],
  ])('refuses a token %s', async (_case, sign) => {
    rogue.sign = sign();
    await expect(finish()).rejects.toEqual(TOKEN);
  });

  const encode = (value: unknown): string => base64url.encode(JSON.stringify(value));
  const unsigned: Rogue['sign'] = async (content) => `${encode({ alg: 'none' })}.${encode(content)}.`;
  const swapped: Rogue['sign'] = async (content) => {
    const [head, , signature] = (await rogue.signed(content)).split('.');
    return [head, encode({ ...content, email: 'boss@example.com' }), signature].join('.');
  };

  it.each([['false'], ['true'], [1], [undefined], [{}]])(
    'takes no mail whose `email_verified` is %j',
    async (email_verified) => {
      rogue.claims = { email_verified };
      expect(await finish()).toEqual({ subject: 'anna', groups: [], idToken });
    },
  );

  it.each([['anna'], ['anna@example.com\n'], ['\u212Aim@example.com'], [['anna@example.com']]])(
    'takes no mail that is not an address: %j',
    async (email) => {
      rogue.claims = { email };
      expect(await finish()).toEqual({ subject: 'anna', groups: [], idToken });
    },
  );
});

describe('signing out at an issuer', () => {
  let rogue: Rogue;
  beforeAll(async () => {
    rogue = await startRogue();
  });
  afterAll(() => rogue.stop());

  const leave = async (end: unknown, token: string) => {
    rogue.metadata = { end_session_endpoint: end };
    return createOidc({ issuer: rogue.issuer, ...CLIENT }, PUBLIC).leave(token);
  };

  it.each([
    ['shows the token that it signed', 'a.b.c', { id_token_hint: 'a.b.c' }],
    ['shows the longest token that has room', 'a'.repeat(4096), { id_token_hint: 'a'.repeat(4096) }],
    ['shows no longer token', 'a'.repeat(4097), {}],
  ])('%s', async (_case, token, hint) => {
    const at = new URL((await leave(`${rogue.issuer}/end?of=session`, token)) ?? '');
    expect(`${at.origin}${at.pathname}`).toBe(`${rogue.issuer}/end`);
    expect(Object.fromEntries(at.searchParams)).toEqual({
      ...{ of: 'session', client_id: 'inbox', post_logout_redirect_uri: `${PUBLIC}/` },
      ...hint,
    });
  });

  it.each([undefined, '', 'end', 'javascript:alert(1)', 'data:text/html,hi', 'https:'])(
    'goes nowhere where the issuer names %j',
    async (end) => {
      expect(await leave(end, 'a.b.c')).toBeUndefined();
    },
  );
});

describe('without an issuer that answers', () => {
  it('says that nobody listens there', async () => {
    const [port] = await freePorts(1);
    const oidc = createOidc({ issuer: `http://127.0.0.1:${port}`, ...CLIENT }, PUBLIC);
    await expect(oidc.begin()).rejects.toEqual(UNREACHABLE);
    await expect(oidc.check()).rejects.toEqual(UNREACHABLE);
  });

  it('says so where something else answers', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const at = server.address();
    const port = typeof at === 'object' ? at?.port : 0;
    const oidc = createOidc({ issuer: `http://127.0.0.1:${port}`, ...CLIENT }, PUBLIC);
    await expect(oidc.begin()).rejects.toEqual(UNREACHABLE);
    server.close();
  });

  it('looks again once it is there, without a restart', async () => {
    const rogue = await startRogue();
    const oidc = createOidc({ issuer: rogue.issuer, ...CLIENT }, PUBLIC);
    await oidc.check();
    await rogue.stop();
    const { url, secret } = await oidc.begin();
    const state = new URL(url).searchParams.get('state') ?? '';
    await expect(oidc.finish(`?code=x&state=${state}`, secret)).rejects.toEqual(UNREACHABLE);
  });
});

it.each([
  [undefined, []],
  ['ops', ['ops']],
  [
    ['ops', '', 7, null, 'leads'],
    ['ops', 'leads'],
  ],
  [{ ops: true }, []],
])('reads the groups of %j', (claim, groups) => {
  expect(groupsIn(claim)).toEqual(groups);
});

it.each<[string, object, object, unknown]>([
  [
    'the token, which says that it is verified',
    { email: 'a@x.y', email_verified: true },
    { email: 'b@x.y' },
    'a@x.y',
  ],
  [
    'the other, if only that one says so',
    { email: 'a@x.y' },
    { email: 'b@x.y', email_verified: true },
    'b@x.y',
  ],
  ['neither, if each has one half', { email: 'a@x.y' }, { email_verified: true }, undefined],
  ['neither, the other way round', { email_verified: true }, { email: 'a@x.y' }, undefined],
])('the mail address is that of %s', (_case, token, more, email) => {
  expect(joinClaims({ ...token, sub: 'a' }, { ...more, groups: ['g'] })).toMatchObject({
    sub: 'a',
    groups: ['g'],
  });
  expect(joinClaims({ ...token }, { ...more })['email']).toBe(email);
});
