import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JSONWebKeySet, SignJWT, UnsecuredJWT } from 'jose';
import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { createProxy } from '../../../src/server/auth/proxy';
import { createTestApp, ORIGIN, unreachable } from '../support';

const HEADER = 'x-proxy-jwt';
const ISSUER = 'https://proxy.example.com';
const AUDIENCE = 'inbox';
const people = parseApprovers(
  `installation: 0123456789abcdef0123456789abcdef
people:
  anna: { mail: anna@example.com, groups: [leads] }
  bob: { oidc: b0b }
roles: { admins: [group:leads], viewers: [group:support] }
groups: { support: nobody }
rules: [{ name: default, then: by_safety }]
`,
  'a.yaml',
);

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;
let own: Keys;
let rsa: Keys;
let foreign: Keys;
let set: JSONWebKeySet;
let app: Awaited<ReturnType<typeof createTestApp>>;

beforeAll(async () => {
  own = await generateKeyPair('ES256');
  rsa = await generateKeyPair('RS256');
  foreign = await generateKeyPair('ES256');
  set = {
    keys: [
      { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'ES256' },
      { ...(await exportJWK(rsa.publicKey)), kid: 'rsa' },
    ],
  };
  app = await createTestApp(unreachable(), {
    signIn: {
      publicUrl: ORIGIN,
      people: () => Promise.resolve(people),
      access: { mayConverse: ['group:support'], mayFork: ['group:leads'] },
      proxy: { header: HEADER, issuer: ISSUER, audience: AUDIENCE, keys: { set } },
    },
  });
});
afterAll(async () => {
  app.close();
  await app.remove();
});

const ANNA = { email: 'anna@example.com', sub: 'a1' };
const nowS = (): number => Math.floor(Date.now() / 1000);

const tokenOf = (
  claims: Record<string, unknown> = ANNA,
  {
    key = own.privateKey,
    alg = 'ES256',
    kid = 'own',
  }: { key?: Keys['privateKey'] | Uint8Array; alg?: string; kid?: string } = {},
): Promise<string> =>
  new SignJWT({ iss: ISSUER, aud: AUDIENCE, iat: nowS(), exp: nowS() + 60, ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(key);

const ask = (token: string, options: Parameters<typeof app.ask>[1] = {}) =>
  app.ask('/api/session', { ...options, headers: { [HEADER]: token, ...options.headers } });

it.each<[string, Record<string, unknown>, string]>([
  ['a mail', ANNA, 'anna'],
  ['a subject', { sub: 'b0b' }, 'bob'],
  ['one of several audiences', { ...ANNA, aud: ['other', AUDIENCE] }, 'anna'],
  ['a token that expired within what clocks may differ', { ...ANNA, exp: nowS() - 5 }, 'anna'],
])('knows a person by %s, without a cookie', async (_case, claims, user) => {
  const response = await ask(await tokenOf(claims));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ user });
  expect(response.headers.get('set-cookie')).toBeNull();
});

it('takes an RSA key of the set, too', async () => {
  expect((await ask(await tokenOf(ANNA, { key: rsa.privateKey, alg: 'RS256', kid: 'rsa' }))).status).toBe(
    200,
  );
});

const fault = (words: RegExp, code = 'sign_in_failed') =>
  expect.objectContaining({ code, message: expect.stringMatching(words) });
const TOKEN = fault(/is not accepted/);
const CLOCK = fault(/has expired or is from the future/);

it.each<[string, () => Promise<string>, number, unknown]>([
  ['a plain name', async () => 'anna@example.com', 401, TOKEN],
  ['an empty header', async () => ' ', 401, TOKEN],
  [
    'no signature (alg none)',
    async () =>
      new UnsecuredJWT({ ...ANNA }).setIssuer(ISSUER).setAudience(AUDIENCE).setExpirationTime('1m').encode(),
    401,
    TOKEN,
  ],
  [
    'a signature with the public key as a secret (HS256)',
    async () =>
      tokenOf(ANNA, {
        key: new TextEncoder().encode(await exportSPKI(rsa.publicKey)),
        alg: 'HS256',
        kid: 'rsa',
      }),
    401,
    TOKEN,
  ],
  [
    'a key of somebody else under the name of ours',
    () => tokenOf(ANNA, { key: foreign.privateKey }),
    401,
    TOKEN,
  ],
  ['a key that is not in the set', () => tokenOf(ANNA, { key: foreign.privateKey, kid: 'new' }), 401, TOKEN],
  ['another audience', () => tokenOf({ ...ANNA, aud: 'another-app' }), 401, TOKEN],
  ['another issuer', () => tokenOf({ ...ANNA, iss: `${ISSUER}/` }), 401, TOKEN],
  ['a token that has expired', () => tokenOf({ ...ANNA, exp: nowS() - 60 }), 401, CLOCK],
  ['a token that does not expire', () => tokenOf({ ...ANNA, exp: undefined }), 401, TOKEN],
  ['a token of the future', () => tokenOf({ ...ANNA, nbf: nowS() + 60 }), 401, CLOCK],
  ['nobody', () => tokenOf({}), 401, TOKEN],
  [
    'a mail that is not verified',
    () => tokenOf({ email: 'anna@example.com', email_verified: false }),
    401,
    TOKEN,
  ],
  [
    'the mail of nobody',
    () => tokenOf({ email: 'eve@example.com' }),
    403,
    fault(/is nobody in the approvers file/, 'not_allowed'),
  ],
  ['a name in place of a mail', () => tokenOf({ email: 'anna' }), 401, TOKEN],
  [
    'a changed payload',
    async () => (await tokenOf()).replace(/\.[^.]*\./, `.${btoa('{"email":"anna@example.com"}')}.`),
    401,
    TOKEN,
  ],
  ['much', async () => 'a'.repeat(20_000), 401, TOKEN],
])('refuses %s', async (_case, token, status, error) => {
  const response = await ask(await token());
  const body: unknown = await response.json();
  expect([response.status, body]).toEqual([status, error]);
  expect(JSON.stringify(body)).not.toContain('eyJ');
});

it('does not fall back on a cookie or take the header of another name', async () => {
  const cookie = await app.signIn();
  expect((await app.ask('/api/session', { cookie })).status).toBe(200);
  expect((await ask('forged', { cookie })).status).toBe(401);
  expect((await app.ask('/api/session', { headers: { 'x-other-jwt': await tokenOf() } })).status).toBe(401);
});

it('has no such header where none is configured', async () => {
  const plain = await createTestApp(unreachable());
  expect((await plain.ask('/api/session', { headers: { [HEADER]: await tokenOf() } })).status).toBe(401);
  plain.close();
  await plain.remove();
});

it('takes groups of the proxy for rights alone, not for roles or votes', async () => {
  const token = await tokenOf({ sub: 'b0b', groups: ['leads', 'support'] });
  expect(await (await ask(token)).json()).toMatchObject({
    user: 'bob',
    rights: ['fork-live', 'converse'],
    role: 'approver',
  });
  expect(people.groupsOf('bob')).toEqual([]);
});

it('keeps other sites and changes without an origin out: a proxy adds its header to those, too', async () => {
  const headers = { [HEADER]: await tokenOf() };
  const post = (more: object) => app.ask('/api/turns/t/cancel', { json: {}, headers, ...more });
  expect((await post({ without: ['origin'] })).status).toBe(403);
  expect((await post({ headers: { ...headers, origin: 'https://evil.example' } })).status).toBe(403);
  expect((await post({ headers: { ...headers, 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
  // It gets as far as the server that this test does not have.
  expect((await post({})).status).toBe(500);
});

describe('keys at an address', () => {
  let server: Server;
  let url: string;
  let asked = 0;
  beforeAll(async () => {
    server = createServer((_request, response) => {
      asked += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(set));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const { port }: Pick<AddressInfo, 'port'> =
      address === null || typeof address === 'string' ? { port: 0 } : address;
    url = `http://127.0.0.1:${port}/jwks`;
  });

  it('reads them once, and says where they cannot be read', async () => {
    const options = { header: HEADER, issuer: ISSUER, audience: AUDIENCE };
    const proxy = createProxy({ ...options, keys: { url } });
    const token = await tokenOf();
    for (let look = 0; look < 3; look++)
      expect(await proxy.identify(token)).toEqual({ subject: 'a1', mail: 'anna@example.com', groups: [] });
    expect(asked).toBe(1);
    await new Promise((resolve) => server.close(resolve));
    const late = createProxy({ ...options, keys: { url } });
    await expect(late.identify(token)).rejects.toEqual(expect.objectContaining({ code: 'server_failed' }));
  });
});
