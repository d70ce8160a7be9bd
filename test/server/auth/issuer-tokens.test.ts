import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Attempts } from '../../../src/server/auth/attempts';
import { Authenticator } from '../../../src/server/auth/authenticator';
import { createIssuerTokens } from '../../../src/server/auth/issuer-tokens';
import { SignInSessions } from '../../../src/server/auth/sessions';

const ISSUER = 'https://id.example.com';
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let server: Server;

beforeAll(async () => {
  keys = await generateKeyPair('ES256');
  const set = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'own', alg: 'ES256' }] };
  server = createServer((_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(set)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

const urlOf = ({ port }: Pick<AddressInfo, 'port'>): string => `http://127.0.0.1:${port}/keys`;
const tokens = () =>
  createIssuerTokens(
    { issuer: ISSUER, clientId: 'inbox' },
    {
      keysAt: async () => {
        const address = server.address();
        if (address === null || typeof address === 'string') throw new Error('it listens');
        return urlOf(address);
      },
    },
  );

const tokenOf = (claims: Record<string, unknown>): Promise<string> => {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: ISSUER, aud: 'inbox', sub: 's1', iat: now, exp: now + 60 };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'own' })
    .sign(keys.privateKey);
};

test.each([
  ['a verified mail address', { email: 'ann@example.com', email_verified: true }, 'ann@example.com'],
  ['a mail address that nobody verified', { email: 'ann@example.com' }, undefined],
])('a token of the issuer with %s', async (_what, claims, mail) => {
  expect(await tokens().identify(await tokenOf(claims))).toEqual({ subject: 's1', groups: [], mail });
});

test.each([
  ['for another client', { aud: 'another' }],
  ['of another issuer', { iss: 'https://evil.example.com' }],
  ['that has expired', { exp: 1 }],
])('a token %s signs nobody in', async (_what, claims) => {
  await expect(tokens().identify(await tokenOf(claims))).rejects.toMatchObject({ code: 'sign_in_failed' });
});

test('such a token is a bearer token of the person in the approvers file, for as long as it counts', async () => {
  const authenticator = new Authenticator({
    ...{ sessions: new SignInSessions(), attempts: new Attempts(), tokens: tokens() },
    users: {
      list: async () => [],
      add: async () => '',
      remove: async () => undefined,
      withToken: async () => undefined,
    },
    directory: { find: async ({ subject = '' }) => ({ user: `person ${subject}`, rights: [] }) },
  });
  const bearer = await tokenOf({});
  expect(await authenticator.identify({ from: '', bearer })).toMatchObject({ user: 'person s1' });
  expect(await authenticator.stillSignedIn({ from: '', bearer })).toMatchObject({ user: 'person s1' });
  const old = await tokenOf({ exp: 1 });
  expect(await authenticator.stillSignedIn({ from: '', bearer: old })).toBeUndefined();
});
