import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { CLIENT, type Jar, type RunningProvider, startProvider } from '../support/oidc';
import { createTestApp, HOST, ORIGIN, unreachable } from './support';

const header = 'installation: 0123456789abcdef0123456789abcdef\n';
const rules = 'rules: [{ name: default, then: by_safety }]\n';
const file = (people: string) => parseApprovers(`${header}people: ${people}\n${rules}`, 'approvers.yaml');
const PEOPLE = '{ anna: { mail: anna@example.com, groups: [leads] }, bob: { oidc: b0b } }';

let provider: RunningProvider;
let app: Awaited<ReturnType<typeof createTestApp>>;
let people = file(PEOPLE);

beforeAll(async () => {
  provider = await startProvider(`${ORIGIN}/sign-in/done`);
});
afterAll(() => provider.stop());
beforeEach(async () => {
  people = file(PEOPLE);
  app = await createTestApp(unreachable(), {
    signIn: {
      publicUrl: ORIGIN,
      people: () => Promise.resolve(people),
      access: { mayConverse: ['group:support'], mayFork: ['group:leads'] },
      oidc: { issuer: provider.issuer, ...CLIENT },
    },
  });
});
afterEach(async () => {
  app.close();
  await app.remove();
});

/** As a browser goes there: from our page, or back from another site. */
const visit = (path: string, cookie: string, site = 'same-origin') =>
  app.ask(path, {
    cookie,
    headers: { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    without: ['origin'],
  });

const cookiesOf = (response: Response): Map<string, string> =>
  new Map(
    response.headers.getSetCookie().map((text) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      return [name, value];
    }),
  );

const begin = async (cookie = '') => {
  const response = await visit('/sign-in', cookie);
  const secret = cookiesOf(response).get('countersign-7243-sign-in') ?? '';
  return {
    response,
    url: response.headers.get('location') ?? '',
    cookie: `countersign-7243-sign-in=${secret}`,
  };
};

const signIn = async (as: string, jar: Jar = new Map()) => {
  const { url, cookie } = await begin();
  const { pathname, search } = new URL(await provider.visit(url, as, 'agree', jar));
  return visit(`${pathname}${search}`, cookie, 'cross-site');
};

const sessionOf = (response: Response): string =>
  `countersign-7243=${cookiesOf(response).get('countersign-7243') ?? ''}`;

const whoAmI = async (cookie: string) => {
  const response = await app.ask('/api/session', { cookie });
  return { status: response.status, body: await response.json() };
};

it('leads a person from the page to the issuer and back, signed in, by a cookie as that of a token', async () => {
  expect(await whoAmI('')).toMatchObject({
    status: 401,
    body: { code: 'signed_out', signInAt: '/sign-in' },
  });
  const { response } = await begin();
  expect(response.status).toBe(302);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.getSetCookie().join()).toMatch(
    /^countersign-7243-sign-in=[\w-]{43}\.\d+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  const back = await signIn('anna');
  expect([back.status, back.headers.get('location')]).toEqual([302, '/']);
  expect(back.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^countersign-7243-sign-in=; Max-Age=0/),
    expect.stringMatching(/^countersign-7243=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ]);
  expect(await whoAmI(sessionOf(back))).toMatchObject({
    status: 200,
    // One right by a group of the issuer, one by a group of the file.
    body: { user: 'anna', rights: ['fork-live', 'converse'] },
  });
});

it('answers a failure as a page that says why, and opens no session', async () => {
  const response = await signIn('stranger');
  expect(response.status).toBe(403);
  expect(response.headers.get('content-type')).toMatch('text/html');
  expect(cookiesOf(response).has('countersign-7243')).toBe(false);
  const page = await response.text();
  expect(page).toContain('<code>not_allowed</code>');
  expect(page).toContain('the mail stranger@example.com and the subject stranger');
});

it('escapes what an issuer says', async () => {
  const page = await (await signIn('<script>alert(1)</script>')).text();
  expect(page).toContain('&lt;script&gt;');
  expect(page).not.toContain('<script');
});

it('takes nobody by a mail that is not verified', async () => {
  expect((await signIn('anna+unverified')).status).toBe(403);
});

it.each([
  ['taken out of the file', '{ cleo: {} }'],
  ['given a subject, which the mail does not replace', '{ anna: { mail: anna@example.com, oidc: other } }'],
  ['made another person, by the same mail', '{ anna2: { mail: anna@example.com } }'],
])('ends the session of a person who was %s', async (_case, then) => {
  const cookie = sessionOf(await signIn('anna'));
  expect((await whoAmI(cookie)).status).toBe(200);
  people = file(then);
  expect((await whoAmI(cookie)).status).toBe(401);
});

it('ends a session 12 hours after the issuer vouched for it, however much it is used', async () => {
  const cookie = sessionOf(await signIn('anna'));
  app.clock.ahead = 12 * 3600_000 - 60_000;
  expect((await whoAmI(cookie)).status).toBe(200);
  app.clock.ahead += 60_000;
  expect((await whoAmI(cookie)).status).toBe(401);
});

/** Signs out with a session; where the issuer signs out, too. */
const signOut = async (cookie: string) => {
  const response = await app.ask('/api/session', { method: 'DELETE', cookie });
  expect((await whoAmI(cookie)).status).toBe(401);
  const at: string = response.status === 200 ? Object(await response.json()).signOutAt : '';
  return { response, at };
};

it('signs out at the issuer, which then knows nobody in that browser, and sends it back', async () => {
  const jar: Jar = new Map();
  const cookie = sessionOf(await signIn('anna', jar));
  // The issuer knows the browser, so it asks nothing: whoever sits there is anna.
  expect((await whoAmI(sessionOf(await signIn('stranger', jar)))).body).toMatchObject({ user: 'anna' });
  const { response, at } = await signOut(cookie);
  expect(cookiesOf(response).get('countersign-7243')).toBe('');
  expect(await provider.visit(at, 'anna', 'agree', jar)).toBe(`${ORIGIN}/`);
  expect((await signIn('stranger', jar)).status).toBe(403);
});

it('sends nobody to the issuer who came with a token', async () => {
  expect(await signOut(await app.signIn())).toMatchObject({ response: { status: 204 }, at: '' });
});

it('signs out, and has the issuer ask for the password the next time', async () => {
  const cookie = sessionOf(await signIn('anna'));
  expect((await begin()).url).not.toContain('prompt=');
  const { response, at } = await signOut(cookie);
  const asked = new URL(at).searchParams;
  expect([asked.get('client_id'), asked.get('post_logout_redirect_uri')]).toEqual(['inbox', `${ORIGIN}/`]);
  expect(cookiesOf(response).get('countersign-7243-anew')).toBe('1');
  expect((await begin('countersign-7243-anew=1')).url).toContain('prompt=login');
});

it('lets no other site fetch the way in, only lead there', async () => {
  const fetched = await app.ask('/sign-in', {
    headers: { 'sec-fetch-site': 'cross-site' },
    without: ['origin'],
  });
  expect(fetched.status).toBe(403);
  expect((await visit('/sign-in', '', 'cross-site')).status).toBe(302);
});

it('has https cookies behind a proxy', async () => {
  const response = await app.ask('/sign-in', { headers: { host: 'inbox.example.com' }, without: ['origin'] });
  expect(response.headers.get('set-cookie')).toMatch(/^__Host-countersign-inbox-sign-in=.*; Secure/);
});

it('has no such pages without an issuer', async () => {
  const plain = await createTestApp(unreachable());
  const headers = { host: HOST };
  expect((await plain.ask('/sign-in', { headers })).status).toBe(404);
  expect(await (await plain.ask('/api/session')).json()).not.toHaveProperty('signInAt');
  plain.close();
  await plain.remove();
});
