import { join } from 'node:path';
import { LIMITS } from '../../../src/contract/limits';
import { openSubscriptions, type Push } from '../../../src/server/push/store';
import { subscriptionId } from '../../../src/server/push/subscription';
import { newBrowser } from '../../notify/push-server';
import { scratchDirectory } from '../../support/scratch';
import { createTestApp, type TestApp, unreachable } from '../support';

const directory = scratchDirectory();
const open: Awaited<ReturnType<typeof createTestApp>>[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) {
    app.close();
    await app.remove();
  }
});

const pushOf = (): Push => ({
  publicKey: 'B'.repeat(87),
  subscriptions: openSubscriptions(join(directory(), 'push')),
  mayReach: ({ hostname }) => hostname === 'push.example.org',
});
/** An app, and the cookies of two people. */
async function start(push?: Push): Promise<{ app: TestApp; owner: string; other: string }> {
  const app = await createTestApp(unreachable(), push === undefined ? {} : { push });
  open.push(app);
  const token = await app.users.add('bob');
  const signedIn = await app.ask('/api/session', { json: { token } });
  return {
    app,
    owner: await app.signIn(),
    other: (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  };
}
const one = newBrowser('https://push.example.org/send/one').subscription;
const place = async (app: TestApp, cookie: string, browser = ''): Promise<unknown> =>
  (await app.ask(`/api/push${browser === '' ? '' : `?browser=${browser}`}`, { cookie })).json();

it('notifies the signed-in person in a browser, and no longer once they say so', async () => {
  const push = pushOf();
  const { app, owner, other } = await start(push);
  const id = subscriptionId(one);
  expect(await place(app, owner, id)).toEqual({ publicKey: push.publicKey, isNotified: false });
  expect((await app.ask('/api/push', { json: one, cookie: owner })).status).toBe(204);
  expect(await place(app, owner, id)).toMatchObject({ isNotified: true });
  // It is not said whose it is, and nobody else can end it.
  expect(await place(app, other, id)).toMatchObject({ isNotified: false });
  const end = { method: 'DELETE', json: { endpoint: one.endpoint } };
  expect((await app.ask('/api/push', { ...end, cookie: other })).status).toBe(204);
  expect(await push.subscriptions.list()).toMatchObject([{ user: 'owner' }]);
  expect((await app.ask('/api/push', { ...end, cookie: owner })).status).toBe(204);
  expect(await push.subscriptions.list()).toEqual([]);
  expect(app.reported).toEqual([]);
});

it.each<[string, unknown, number]>([
  ['an address that is not reached', { ...one, endpoint: 'https://10.0.0.7/x' }, 400],
  ['an address without https', { ...one, endpoint: 'http://push.example.org/x' }, 400],
  ['no keys', { endpoint: one.endpoint }, 400],
  ['a list', [one], 400],
  ['nothing', null, 400],
  ['too much', { ...one, more: 'x'.repeat(LIMITS.sessionMessageBytes) }, 413],
])('refuses %s, and says nothing of what was sent', async (_name, json, status) => {
  const push = pushOf();
  const { app, owner } = await start(push);
  const response = await app.ask('/api/push', { json, cookie: owner });
  expect([response.status, await response.text()]).toEqual([
    status,
    expect.not.stringContaining(one.keys.auth),
  ]);
  expect(await push.subscriptions.list()).toEqual([]);
});

it('is for people who are signed in, and for our own page', async () => {
  const push = pushOf();
  const { app, owner } = await start(push);
  expect((await app.ask('/api/push', { json: one })).status).toBe(401);
  const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  expect((await app.ask('/api/push', { json: one, cookie: owner, headers: elsewhere })).status).toBe(403);
  expect((await app.ask('/api/push', { json: one, cookie: owner, without: ['origin'] })).status).toBe(403);
  expect(await push.subscriptions.list()).toEqual([]);
});

it('says in words that no browser is notified from here', async () => {
  const { app, owner } = await start();
  const answer = { code: 'not_found', message: 'this web inbox notifies no browser' };
  expect(await place(app, owner)).toMatchObject(answer);
  expect(await (await app.ask('/api/push', { json: one, cookie: owner })).json()).toMatchObject(answer);
});
