import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, CDPSession, Page, Worker } from 'playwright-core';
import { inboxSigner, openInboxKey } from '../../src/authority/signatures/inbox-key';
import { openApprovers } from '../../src/authority/rules/current-file';
import type { Receiver } from '../../src/notify/notices';
import { noticesOf } from '../../src/notify/notices';
import { openBrowsers } from '../../src/notify/browsers';
import { createPush } from '../../src/notify/push';
import { makePushKeys } from '../../src/notify/push-keys';
import { connect, type Countersign } from '../../src/client';
import { type RunningWeb, startWeb, type WebOptions } from '../../src/server';
import type { PushMessage } from '../../src/server/api';
import { createUsers } from '../../src/server/auth/users';
import { defineAgent } from '../../src/tools/define-agent';
import { type PushBrowser, type PushServer, startPushServer } from '../notify/push-server';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { emptyInbox } from '../support/turns';
import { until } from '../support/until';
import { unnamedIn } from './accessible';
import { useTabs } from './page-fixture';
import { callPlace, signOut } from './web-inbox';

const effects = useEffects();
const book = scriptBook();
const complaints: string[] = [];
const keys = { ...makePushKeys(), subject: 'mailto:ops@example.org' };
const agent = `push-page-${process.pid}`;
let fixture: Fixture;
let client: Countersign;
let service: PushServer;
let receiver: Receiver;
let browser: Browser;
let web: RunningWeb;
let plain: RunningWeb;
let other = '';

const start = (more: Partial<WebOptions>): Promise<RunningWeb> =>
  startWeb({
    ...{
      client,
      port: 0,
      basePath: '/tools/inbox',
      undoMs: 0,
      localUser: 'ann',
      version: '1.2.3',
      pageDir: lib('web'),
    },
    usersFile: join(fixture.directory, 'users.json'),
    refusalsFile: join(fixture.directory, 'refusals.jsonl'),
    onLink: () => undefined,
    report: (error) => void complaints.push(String(error)),
    ...more,
  });

const ofTest = useTabs();

beforeAll(async () => {
  ensureBuilt();
  fixture = await startFixture({});
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(
    file,
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: {}, bob: {} }
inboxKeys: ['${key.line}']
rules:
  - { name: here, tools: [note], then: ask, assurance: signed_in }
  - { name: two, tools: [pair], then: ask, approvers: { any: [ann, bob], need: 2 } }
  - { name: default, then: by_safety }
`,
  );
  const tools = ['note', 'pair'].map((name) => recordTool(effects, { name, safety: 'dangerous' }));
  const made = defineAgent({ name: agent, instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [made], approvers: file });
  client = await connect({ address: testAddress() });
  service = await startPushServer(() => keys.publicKey);
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  const privateHosts = [new URL(service.url).host];
  const browsers = openBrowsers({ subscriptions: join(fixture.directory, 'push'), privateHosts }, {});
  receiver = await createPush({
    ...{ keys, ...browsers, client, approvers: () => approvers.current() },
    note: (line) => void complaints.push(line),
  });
  other = await createUsers(join(fixture.directory, 'users.json')).add('bob');
  const signer = inboxSigner({ key, approvers });
  web = await start({ signer, push: { publicKey: keys.publicKey, ...browsers } });
  plain = await start({});
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all([web, plain].map((one) => one?.stop()));
  await service?.close();
  await client?.close();
});
afterEach(async () => {
  expect(complaints).toEqual([]);
  await emptyInbox(client, agent);
});

const at = (one: RunningWeb): string => one.url.replace('127.0.0.1', 'localhost');

/** A tab of a browser of its own, signed in. */
async function openTab(one = web, isGranted = true): Promise<Page> {
  const context = await browser.newContext();
  if (isGranted) await context.grantPermissions(['notifications'], { origin: new URL(at(one)).origin });
  const page = ofTest(await context.newPage());
  page.setDefaultTimeout(20_000);
  page.on('pageerror', (error) => void complaints.push(error.message));
  page.on('console', (message) => {
    const isOurs = !/Failed to load resource/.test(message.text());
    if (message.type() === 'error' && isOurs) complaints.push(message.text());
  });
  await page.goto((one.drawLink() ?? '').replace('127.0.0.1', 'localhost'));
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  return page;
}

/** No push service of a browser's maker can be reached here, so the browser gets a subscription of ours. */
async function withPushService(page: Page): Promise<PushBrowser> {
  const made = service.browser();
  await page.addInitScript(`(() => {
    const given = ${JSON.stringify(made.subscription)};
    let current = null;
    PushManager.prototype.getSubscription = async () => current;
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly) throw new Error('silent messages');
      const bytes = Uint8Array.from(atob(applicationServerKey.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
      current = { ...given, options: { applicationServerKey: bytes.buffer }, toJSON: () => given,
        unsubscribe: async () => { current = null; return true; } };
      return current;
    };
  })()`);
  // The smallest Chromium, the headless shell, shows no notifications, so it lets nobody ask for them.
  await page.addInitScript(`if (Notification.permission !== 'granted') {
    Object.defineProperty(Notification, 'requestPermission', { value: async () => 'granted' });
  }`);
  await page.reload();
  return made;
}

interface Listening {
  context: BrowserContext;
  page: Page;
  made: PushBrowser;
  worker: Worker;
  devtools: CDPSession;
  /** What the browser knows the worker by. */
  registrationId: string;
}

/** A tab in which somebody asked to be notified. */
async function listening(): Promise<Listening> {
  const page = await openTab();
  const context = page.context();
  const made = await withPushService(page);
  await page.goto(`${at(web)}/#/push`);
  const devtools = await context.newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      for (const { registrationId } of registrations) resolve(registrationId);
    });
  });
  await devtools.send('ServiceWorker.enable');
  await page.getByRole('button', { name: 'Notify me in this browser' }).click();
  await page.getByText('This browser notifies you.').waitFor();
  const worker = await until('the worker', () => context.serviceWorkers()[0]);
  await until('it in charge', () => page.evaluate('navigator.serviceWorker.controller !== null'));
  // What the headless shell does not keep is kept here; a whole Chromium keeps it itself.
  await worker.evaluate(`(() => {
    if (Notification.permission === 'granted') return;
    const shown = new Map();
    const { registration } = self;
    registration.showNotification = async (title, options) =>
      void shown.set(options.tag, { title, ...options, close: () => void shown.delete(options.tag) });
    registration.getNotifications = async () => [...shown.values()];
  })()`);
  return { context, page, made, worker, devtools, registrationId: await registered };
}

interface Shown {
  title: string;
  body: string;
  actions: string[];
}

const SHOWN = `registration.getNotifications().then((all) =>
  all.map(({ title, body, actions }) => ({ title, body, actions: (actions ?? []).map((one) => one.title) })))`;
const shownBy = ({ worker }: Listening): Promise<Shown[]> => worker.evaluate<Shown[]>(SHOWN);
const shows = (one: Listening, title: RegExp): Promise<Shown> =>
  until(`a notification ${String(title)}`, async () =>
    (await shownBy(one)).find((shown) => title.test(shown.title)),
  );

/** Clicks on the notification that is shown, or on a button of it, as far as a program can. */
async function click({ worker }: Listening, label = ''): Promise<void> {
  await worker.evaluate(`registration.getNotifications().then(([notification]) => {
    const { action } = (notification.actions ?? []).find(({ title }) => title === ${JSON.stringify(label)}) ?? { action: '' };
    dispatchEvent(Object.assign(new ExtendableEvent('notificationclick'), { notification, action }));
  })`);
}

async function asked(tag: string, name = 'note'): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent, prompt, taskQueue: fixture.taskQueue });
  await until('it in the inbox', async () =>
    (await client.inbox({ agent })).some((item) => item.turn === turn),
  );
  return turn;
}

/** Sends what waits over the channel, and gives the browser what came for it. */
async function pushed(one: Listening): Promise<PushMessage> {
  const before = one.made.messages.length;
  const items = await client.inbox({ agent });
  const [notice] = noticesOf(items, { now: Date.now(), beforeMs: 0 });
  if (notice === undefined) throw new Error('nothing waits');
  const { signal } = new AbortController();
  for (const target of (await receiver.targetsOf?.(notice)) ?? [])
    await receiver.deliver(notice, signal, target);
  const { message } = one.made.messages[before] ?? {};
  if (message === undefined) throw new Error('nothing came');
  await give(one, JSON.stringify(message));
  return message;
}

const give = ({ devtools, registrationId }: Listening, data: string) =>
  devtools.send('ServiceWorker.deliverPushMessage', {
    origin: new URL(at(web)).origin,
    registrationId,
    data,
  });
const phaseOf = async (turn: string) => (await client.view(turn)).calls[0]?.phase;

test('the page can be installed, and its worker comes with the headers of the page', async () => {
  const page = await openTab();
  const devtools = await page.context().newCDPSession(page);
  const manifest = await devtools.send('Page.getAppManifest');
  expect(manifest.errors).toEqual([]);
  expect(JSON.parse(manifest.data ?? '')).toMatchObject({
    ...{ name: 'Countersign', start_url: './', scope: './', display: 'standalone' },
    icons: [{ type: 'image/svg+xml' }, { type: 'image/png', sizes: '512x512' }],
  });
  // A browser without a face of its own always says that it is in a private window.
  const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
  expect(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito')).toEqual([]);
  const response = await fetch(`${web.url}/push-worker.js`);
  expect([
    response.status,
    response.headers.get('content-type'),
    response.headers.get('cache-control'),
  ]).toEqual([...[200, 'text/javascript; charset=utf-8', 'no-cache']]);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*connect-src 'self'/);
});

test('a person asks for it by keyboard, ends it, and both are on record', async () => {
  const page = await openTab();
  await withPushService(page);
  await page.locator('.account-opener').press('Enter');
  await page.getByRole('link', { name: 'Notifications' }).press('Enter');
  await page.getByRole('heading', { name: 'Notifications' }).waitFor();
  expect(await unnamedIn(page)).toEqual([]);
  const state = async (): Promise<boolean> =>
    page.evaluate(`navigator.serviceWorker.ready.then((one) => one.pushManager.getSubscription())
      .then(async (one) => one !== null && (await (await fetch('api/push?browser=' + Array.from(new Uint8Array(
        await crypto.subtle.digest('SHA-256', new TextEncoder().encode(one.endpoint))),
        (byte) => byte.toString(16).padStart(2, '0')).join(''))).json()).isNotified)`);
  await page.getByRole('button', { name: 'Notify me in this browser' }).press('Enter');
  await page.getByRole('status').getByText('This browser notifies you.').waitFor();
  expect(await state()).toBe(true);
  const scope = await page.evaluate('navigator.serviceWorker.ready.then(({ scope }) => scope)');
  expect(scope).toBe(`${at(web)}/`);
  await page.reload();
  await page.getByRole('heading', { name: 'Notifications' }).waitFor();
  await page.getByRole('button', { name: 'Notify me in this browser' }).press('Enter');
  await page.getByRole('button', { name: 'Stop' }).press('Enter');
  await page.getByText('This browser does not notify you.').waitFor();
  expect(await state()).toBe(false);
});

test('a browser that refuses, and a web inbox that notifies nobody, say so in words', async () => {
  const page = await openTab(web, false);
  await page.goto(`${at(web)}/#/push`);
  await page.getByRole('button', { name: 'Notify me in this browser' }).click();
  await page.getByRole('alert').getByText('This browser does not let this page notify you.').waitFor();
  const without = await openTab(plain);
  await without.goto(`${at(plain)}/#/push`);
  await without.getByRole('alert').getByText('this web inbox notifies no browser').waitFor();
  expect(await without.getByRole('button', { name: 'Notify me' }).count()).toBe(0);
});

test('a notification is decided in two steps, by the API, signed as signed in', async () => {
  const one = await listening();
  const turn = await asked('by push');
  await pushed(one);
  const shown = await shows(one, /^Approve\? .*note/);
  expect(shown).toMatchObject({
    body: expect.stringContaining('{"tag":"by push"}'),
    actions: ['Approve', 'Deny'],
  });
  await click(one, 'Approve');
  expect(await shows(one, /^Approve this\?/)).toMatchObject({
    ...{ body: expect.stringContaining('{"tag":"by push"}'), actions: ['Yes, approve', 'Back'] },
  });
  expect(await phaseOf(turn)).toBe('request');
  await click(one, 'Back');
  await shows(one, /^Approve\? /);
  await click(one, 'Approve');
  await shows(one, /^Approve this\?/);
  await click(one, 'Yes, approve');
  expect(await shows(one, /^Approved: /)).toMatchObject({ body: 'Your decision counts.', actions: [] });
  await until('the end', async () => (await client.view(turn)).endedAt !== null);
  const [call] = (await client.view(turn)).calls;
  expect(await effects.lines('by push')).toEqual(['note by push']);
  expect(call?.decisions).toMatchObject([
    {
      approver: 'ann',
      channel: 'web',
      authenticated: true,
      signature: { kind: 'inbox' },
      decision: 'approved',
    },
  ]);
  expect(call?.decisions[0]?.decisionId).toMatch(/^push-/);
});

test('a vote that still waits for others is not said to decide', async () => {
  const one = await listening();
  const turn = await asked('by two', 'pair');
  await pushed(one);
  await shows(one, /^Approve\? .*pair/);
  await click(one, 'Approve');
  await shows(one, /^Approve this\?/);
  await click(one, 'Yes, approve');
  expect(await shows(one, /^Approved: /)).toMatchObject({
    body: 'It still waits: 1 more approval needed; bob may vote.',
  });
  expect(await phaseOf(turn)).toBe('request');
});

test('a denial, and a click that comes too late, say what happened, and lead to the page', async () => {
  const one = await listening();
  const turn = await asked('late');
  const message = await pushed(one);
  await click(one, 'Deny');
  await shows(one, /^Denied: /);
  await until('the end', async () => (await client.view(turn)).endedAt !== null);
  await give(one, JSON.stringify(message));
  await shows(one, /^Approve\? /);
  await click(one, 'Deny');
  expect(await shows(one, /^Not decided: /)).toMatchObject({
    body: expect.stringMatching(/\w/),
    actions: [],
  });
  await one.page.waitForURL(`**/${callPlace(turn)}`);
  expect((await client.view(turn)).calls[0]?.decisions).toHaveLength(1);
});

test('a decision on something else than was shown is refused, and nothing runs', async () => {
  const one = await listening();
  const turn = await asked('changed');
  const message = await pushed(one);
  const seen = { callKey: message.seen?.callKey, seenDigest: 'ab'.repeat(32) };
  await give(one, JSON.stringify({ ...message, seen }));
  await shows(one, /^Approve\? /);
  await click(one, 'Approve');
  await shows(one, /^Approve this/);
  await click(one, 'Yes, approve');
  await shows(one, /^Not decided: /);
  expect([await phaseOf(turn), await effects.lines('changed')]).toEqual(['request', []]);
});

test('whoever signed out, or is somebody else by now, decides nothing', async () => {
  const one = await listening();
  const turn = await asked('others');
  const message = await pushed(one);
  await one.context.clearCookies();
  await click(one, 'Deny');
  expect((await shows(one, /^Not decided/)).body).toMatch(/^Nobody is signed in here any more/);
  await one.page.evaluate(
    `fetch('/api/session', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify({ token: other }))} })`,
  );
  await give(one, JSON.stringify(message));
  await shows(one, /^Approve\? /);
  await click(one, 'Deny');
  const { body } = await until('the refusal', async () =>
    (await shownBy(one)).find((shown) => /is signed in here/.test(shown.body)),
  );
  expect(body).toBe('This was for ann, and bob is signed in here. Decide it in the page.');
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', decisions: [] });
});

test('a click opens the request in the tab that is open, and loses nothing that was typed there', async () => {
  const one = await listening();
  const turn = await asked('open');
  await one.page.evaluate('globalThis.isSame = true');
  await pushed(one);
  await shows(one, /^Approve\? /);
  await click(one);
  await one.page.waitForURL(`**/${callPlace(turn)}`);
  await one.page.locator('#approve').waitFor();
  expect(await one.page.evaluate('globalThis.isSame')).toBe(true);
  expect(await shownBy(one)).toEqual([]);
  expect(await phaseOf(turn)).toBe('request');
});

test('a message that cannot be read still shows something, and a later one replaces an earlier one', async () => {
  const one = await listening();
  await give(one, 'no JSON');
  expect(await shows(one, /^Countersign$/)).toMatchObject({ body: 'Something waits in the web inbox.' });
  await asked('replaced');
  const message = await pushed(one);
  await give(
    one,
    JSON.stringify({ ...message, title: 'No longer waits: note', text: 'denied by bob', seen: undefined }),
  );
  await shows(one, /^No longer waits/);
  expect((await shownBy(one)).filter(({ title }) => /^Approval/.test(title))).toEqual([]);
});

test('signing out ends it in this browser', async () => {
  const one = await listening();
  await asked('out');
  await pushed(one);
  await shows(one, /^Approve\? /);
  await signOut(one.page);
  await until('nothing shown', async () => (await shownBy(one)).length === 0);
});
