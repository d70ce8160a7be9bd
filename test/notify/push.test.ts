import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { testNotice, type Notice, type Receiver } from '../../src/notify/notices';
import { createOutbox } from '../../src/notify/outbox';
import { openBrowsers } from '../../src/notify/browsers';
import { createPush } from '../../src/notify/push';
import { makePushKeys } from '../../src/notify/push-keys';
import { openSent } from '../../src/notify/sent';
import type { CallView, TurnView } from '../../src/history/view';
import { CountersignError } from '../../src/contract/errors';
import { scratchDirectory } from '../support/scratch';
import { call, NOW, turn } from '../cli/support';
import { type PushBrowser, type PushServer, startPushServer } from './push-server';
import { never, notice } from './support';

const keys = { ...makePushKeys(), subject: 'mailto:ops@example.org' };
const FILE = parseApprovers(
  `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: { mail: ann@example.org }, bob: {}, eve: {} }
roles: { admins: [ann], viewers: [eve] }
visibility: { bob: [other], eve: [clerk] }
rules: [{ name: default, then: by_safety }]
`,
  'approvers.yaml',
);
const directory = scratchDirectory();
let server: PushServer;
let views: TurnView[];
let notes: string[];
beforeEach(async () => {
  server = await startPushServer(() => keys.publicKey);
  [views, notes] = [[turn([call()])], []];
});
afterEach(() => server.close());

const browsers = (privateHosts = [new URL(server.url).host]) =>
  openBrowsers({ subscriptions: join(directory(), 'push'), privateHosts }, {});
const open = (privateHosts?: string[]): Promise<Receiver> =>
  createPush({
    ...{ keys, ...browsers(privateHosts), approvers: () => Promise.resolve(FILE), tester: 'ann' },
    client: {
      view: (id) => {
        const found = views.find((one) => one.turn === id);
        if (found === undefined) throw new CountersignError('not_found', id);
        return Promise.resolve(found);
      },
    },
    postsFile: join(directory(), 'pushed.json'),
    note: (line) => void notes.push(line),
  });
const subscribe = async (user: string): Promise<PushBrowser> => {
  const made = server.browser();
  await browsers().subscriptions.add(user, made.subscription, NOW);
  return made;
};
/** Delivers a notice to all who get it. */
const send = async (receiver: Receiver, about: Notice): Promise<void> => {
  for (const target of (await receiver.targetsOf?.(about)) ?? [])
    await receiver.deliver(about, never, target);
};
const corrections = async (receiver: Receiver, waiting: Notice[], now = NOW): Promise<number> => {
  const all = (await receiver.outdated?.(waiting, now)) ?? [];
  for (const { act } of all) await act(never);
  return all.length;
};
const decided = (outcome: CallView['outcome']) => (views = [turn([call({ phase: 'done', outcome })])]);

it('notifies each browser of who may decide and sees it: signed, encrypted, with a topic and a time', async () => {
  const [one, two] = [await subscribe('ann'), await subscribe('ANN@example.org')];
  const [bob, stranger] = [await subscribe('bob'), await subscribe('nobody')];
  await send(await open(), notice('a'));
  const { headers, claims, message } = one.messages[0] ?? {};
  expect(message).toMatchObject({ user: 'ann', tool: 'pay', seen: { callKey: 'key:1.1' } });
  expect(two.messages[0]?.message).toMatchObject({ user: 'ANN@example.org', seen: { callKey: 'key:1.1' } });
  expect([bob.messages, stranger.messages]).toEqual([[], []]);
  expect(headers).toMatchObject({ ttl: '604800', urgency: 'high', 'content-encoding': 'aes128gcm' });
  expect(headers?.['topic']).toBe(message?.tag);
  expect(claims).toMatchObject({ aud: server.url, sub: 'mailto:ops@example.org' });
  expect(claims?.exp).toBeLessThan(Date.now() / 1000 + 24 * 3600);
  for (const body of server.bodies) expect(body.toString('latin1')).not.toMatch(/amount/);
});

it('lets viewers look only', async () => {
  const eve = await subscribe('eve');
  await send(await open(), notice('a'));
  expect(eve.messages[0]?.message).toMatchObject({ text: expect.stringContaining('in the web inbox') });
  expect(eve.messages[0]?.message.seen).toBeUndefined();
});

it('is kept by the push service until the deadline, and a minute at least', async () => {
  const ann = await subscribe('ann');
  const receiver = await open();
  for (const ms of [90_000_000, -5000, 30 * 24 * 3_600_000]) {
    const about = notice('a');
    const deadline = new Date(Date.now() + ms).toISOString();
    await send(receiver, { ...about, data: { ...about.data, deadline } });
  }
  const ttls = ann.messages.map(({ headers }) => Number(headers['ttl']));
  expect(ttls[0]).toBeGreaterThan(89_000);
  expect(ttls).toEqual([expect.any(Number), 60, 604_800]);
});

it('removes a browser that is over, goes on with the other, and names no address', async () => {
  const [gone, kept] = [await subscribe('ann'), await subscribe('ann')];
  server.end(gone);
  await send(await open(), notice('a'));
  expect(kept.messages).toHaveLength(1);
  expect(await browsers().subscriptions.list()).toMatchObject([kept.subscription]);
  expect(notes).toEqual([expect.stringMatching(/^a browser of ann is not notified any more/)]);
  expect(notes.join()).not.toMatch(/s3cret/);
});

it.each<[number, Record<string, string>, object]>([
  [500, {}, {}],
  [503, { 'retry-after': '120' }, { retryInMs: 120_000 }],
  [429, { 'retry-after': '7' }, { retryInMs: 7000 }],
  [429, { 'retry-after': 'x' }, {}],
  [403, {}, { retryInMs: 3_600_000 }],
  [413, {}, { retryInMs: 3_600_000 }],
  [307, { location: 'http://127.0.0.1:1/' }, { retryInMs: 3_600_000 }],
])('says that it answered %d, and when to try again: %j', async (status, headers, data) => {
  await subscribe('ann');
  server.answer(status, headers);
  const failed = await send(await open(), notice('a')).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 'failed',
    message: expect.stringMatching(new RegExp(`^127.0.0.1:\\d+ answered ${status}$`)),
  });
  expect(failed).toHaveProperty('data', data);
  expect(server.posts()).toBe(1);
  expect(await browsers().subscriptions.list()).toHaveLength(1);
});

it('reaches no private address that nobody named', async () => {
  await subscribe('ann');
  await expect(send(await open([]), notice('a'))).rejects.toThrow(/leads to a private address/);
  expect(server.posts()).toBe(0);
  expect(browsers([]).mayReach(new URL('https://10.0.0.7/x'))).toBe(false);
  expect(browsers(['10.0.0.7']).mayReach(new URL('https://10.0.0.7/x'))).toBe(true);
  expect(browsers([]).mayReach(new URL('https://push.example.org/x'))).toBe(true);
});

it('tries again after a failure, with the same content, until it is taken', async () => {
  const ann = await subscribe('ann');
  const receiver = await open();
  const sent = await openSent(join(directory(), 'sent.json'));
  const outbox = createOutbox({ receiver, sent, signal: never, note: (line) => void notes.push(line) });
  server.answer(503);
  expect(await outbox.send([notice('a')], NOW)).toBe(1);
  expect(await outbox.send([notice('a')], NOW + 500)).toBe(1);
  expect(server.posts()).toBe(1);
  server.answer();
  expect(await outbox.send([notice('a')], NOW + 1500)).toBe(0);
  expect(await outbox.send([notice('a')], NOW + 9000)).toBe(0);
  expect(ann.messages).toHaveLength(1);
  expect(notes.join('\n')).not.toMatch(/s3cret/);
});

it('replaces a message once its call is decided elsewhere, once, also after a restart', async () => {
  const [one, two] = [await subscribe('ann'), await subscribe('ann')];
  await send(await open(), notice('a'));
  expect(await corrections(await open(), [notice('a')])).toBe(0);
  const receiver = await open();
  expect(await corrections(receiver, [])).toBe(2);
  expect([one, two].map(({ messages }) => messages.length)).toEqual([1, 1]);
  // It waits as it did, so it is left alone for a while.
  expect(await corrections(receiver, [])).toBe(0);
  decided('expired');
  expect(await corrections(receiver, [], NOW + 60_000)).toBe(2);
  for (const { messages } of [one, two]) {
    expect(messages[1]?.message).toMatchObject({ isOver: true, text: 'expired' });
    expect(messages[1]?.message.tag).toBe(messages[0]?.message.tag);
    expect(messages[1]?.headers['topic']).toBe(messages[0]?.headers['topic']);
  }
  expect(await corrections(await open(), [])).toBe(0);
});

it('says nothing about a call of one person to the next who signs in with the same browser', async () => {
  const browser = await subscribe('ann');
  const receiver = await open();
  const targets = (await receiver.targetsOf?.(notice('a'))) ?? [];
  await send(receiver, notice('a'));
  // Bob does not see agents such as this one. His subscription has the address and the id of hers.
  await browsers().subscriptions.add('bob', browser.subscription, NOW);
  for (const target of targets) await receiver.deliver(notice('a'), never, target);
  decided('expired');
  expect(await corrections(receiver, [], NOW + 60_000)).toBe(1);
  expect(browser.messages.map(({ message }) => message.user)).toEqual(['ann']);
  expect(await corrections(receiver, [], NOW + 120_000)).toBe(0);
});

it('says that a turn is gone, tries again where that fails, and nothing to a browser that ended', async () => {
  const [one, two] = [await subscribe('ann'), await subscribe('ann')];
  const receiver = await open();
  await send(receiver, notice('a'));
  views = [];
  server.answer(500);
  await expect(corrections(receiver, [])).rejects.toThrow(/answered 500/);
  server.answer();
  await browsers().subscriptions.remove(readdirSync(join(directory(), 'push'))[0]?.slice(0, 64) ?? '');
  expect(await corrections(receiver, [])).toBe(2);
  const all = [...one.messages, ...two.messages].filter(({ message }) => message.isOver);
  expect(all.map(({ message }) => message.text)).toEqual(['the turn is not there any more']);
});

it('leaves a call alone that was asked about again: the newer notice says it', async () => {
  await subscribe('ann');
  const receiver = await open();
  await send(receiver, notice('a'));
  expect(await corrections(receiver, [notice('newer')])).toBe(0);
});

it('sends nothing about a call that was decided in between, and to nobody where nobody asked', async () => {
  expect(await (await open()).targetsOf?.(notice('a'))).toEqual([]);
  const ann = await subscribe('ann');
  decided('denied');
  await send(await open(), notice('a'));
  expect(ann.messages).toEqual([]);
});

it('is tried by a test, and says who has no browser', async () => {
  const receiver = await open();
  await expect(receiver.targetsOf?.(testNotice(NOW))).rejects.toThrow(
    /^ann has no browser that is notified$/,
  );
  const ann = await subscribe('ann');
  await send(receiver, testNotice(NOW));
  expect(ann.messages[0]?.message).toMatchObject({ title: 'Test: notifications', place: '#/' });
  expect(await receiver.check?.(never)).toMatch(/^notifies 1 browsers of 1 people/);
});

it('refuses a key that is not that of the public one', async () => {
  const other = { ...keys, privateKey: makePushKeys().privateKey };
  const made = createPush({
    ...{ keys: other, ...browsers(), approvers: () => Promise.resolve(FILE), note: () => undefined },
    client: { view: () => Promise.reject(new Error('none')) },
  });
  await expect(made).rejects.toMatchObject({
    code: 'usage',
    message: expect.not.stringMatching(other.privateKey),
  });
});
