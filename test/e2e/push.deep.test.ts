import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { type PushBrowser, type PushServer, startPushServer } from '../notify/push-server';
import { type RunningCommand, type RunOptions, useCommands } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { recordTool, TAG_SCHEMA, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { emptyInbox } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const agent = `pushed-${process.pid}`;
let fixture: Fixture;
let client: Countersign;
let service: PushServer;
const startCommand = useCommands();
let [approvers, publicKey, url] = ['', '', ''];

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: {}, lea: { groups: [leads] } }
rules:
  - { name: note, tools: [note], then: ask, approvers: { any: [ann] } }
  - name: late
    tools: [late]
    then: ask
    approvers: { any: [ann] }
    escalate: { after: 2s, to: ['group:leads'] }
  - { name: default, then: by_safety }
`;

beforeAll(async () => {
  fixture = await startFixture({});
  approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(approvers, FILE);
  const tools = ['note', 'late'].map((name) =>
    recordTool(effects, { name, safety: 'dangerous', parameters: TAG_SCHEMA }),
  );
  const made = defineAgent({ name: agent, instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [made], approvers });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());
beforeEach(async () => {
  service = await startPushServer(() => publicKey);
});
afterEach(async () => {
  await service.close();
  await emptyInbox(client, agent);
});

// Made after the hook above, so that it is removed after nobody writes there.
const directory = scratchDirectory();

const settings = (): RunOptions => ({
  cwd: directory(),
  env: { TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: directory() },
});
const start = (...args: string[]): RunningCommand => startCommand(args, settings());
const LINK = /(http:\/\/127\.0\.0\.1:\d+)\/#code=/;
const WATCH = ['watch', '--channels', 'notify.yaml', '--agent', agent];

/** Makes the key as an operator does, puts what that prints into the file of channels, and opens the web inbox. */
beforeEach(async () => {
  const made = await runCli(['web', 'push-key', 'push.key'], settings());
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining('kind: web-push') });
  publicKey = /publicKey: (\S+)$/m.exec(made.out)?.[1] ?? '';
  const channel = made.out.slice(made.out.indexOf('  browsers:')).trimEnd();
  const privateHosts = `    privateHosts: ['${new URL(service.url).host}']`;
  writeFileSync(
    join(directory(), 'notify.yaml'),
    [`approvers: ${approvers}`, 'channels:', channel, privateHosts, ''].join('\n'),
  );
  const web = start('web', '--port', '0', '--approvers', approvers, '--channels', 'notify.yaml');
  [, url = ''] = await until('the web inbox', () => LINK.exec(web.out()) ?? undefined);
});

/** Whoever is signed in with a token of their own, as far as the server sees. */
const asUser = async (name: string): Promise<(init?: RequestInit) => Promise<Response>> => {
  const { out } = await runCli(['web', 'user', name, '--json'], settings());
  const { token }: { token: string } = JSON.parse(out);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return (init) => fetch(`${url}/api/push`, { ...init, headers });
};
const subscribe = async (name: string): Promise<PushBrowser> => {
  const ask = await asUser(name);
  expect(await (await ask()).json()).toEqual({ publicKey, isNotified: false });
  const made = service.browser();
  expect((await ask({ method: 'POST', body: JSON.stringify(made.subscription) })).status).toBe(204);
  return made;
};
const asked = async (name: string): Promise<string> => {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag: 'x' } }] }, readBack);
  return (await client.start({ agent, prompt, taskQueue: fixture.taskQueue })).turn;
};
const deny = async (turn: string): Promise<void> => {
  const { request } = (await client.view(turn)).calls[0] ?? {};
  await client.decide(turn, {
    ...{ callId: '1.1', decision: 'denied', approver: 'ann', channel: 'cli' },
    seenDigest: request?.seenDigest ?? '',
  });
};
const arrived = (browser: PushBrowser, count: number): Promise<unknown> =>
  until(`${count} messages`, () => browser.messages.length >= count);

it('notifies who may decide and replaces that once it was decided elsewhere, also after a kill', async () => {
  const [ann, lea] = [await subscribe('ann'), await subscribe('lea')];
  const killed = start(...WATCH);
  const turn = await asked('note');
  await arrived(ann, 1);
  const [first] = ann.messages;
  expect(first?.message).toMatchObject({
    ...{ user: 'ann', turn, callId: '1.1', title: `Approve? tag=x · note (${agent})` },
    text: expect.stringContaining('{"tag":"x"}'),
    seen: { seenDigest: (await client.view(turn)).calls[0]?.request?.seenDigest },
  });
  await until('it on record', () => killed.err().includes(`request.opened ${turn}`));
  killed.signal('SIGKILL');
  await killed.ended;
  await deny(turn);
  const again = start(...WATCH);
  await arrived(ann, 2);
  expect(ann.messages[1]?.message).toMatchObject({
    ...{ isOver: true, title: 'No longer waits: tag=x', text: 'denied by ann', tag: first?.message.tag },
  });
  expect(ann.messages.map(({ headers }) => headers['topic'])).toEqual(Array(2).fill(first?.message.tag));
  again.signal('SIGINT');
  const { code, out, err } = await again.ended;
  expect([code, out + err]).toEqual([0, expect.not.stringContaining('s3cret')]);
  expect([ann, lea].map(({ messages }) => messages.length)).toEqual([2, 0]);
});

it('notifies of an escalation those who may decide since then, and says to all how it ended', async () => {
  const [ann, lea] = [await subscribe('ann'), await subscribe('lea')];
  start(...WATCH);
  const turn = await asked('late');
  await arrived(lea, 1);
  await arrived(ann, 1);
  expect(lea.messages[0]?.message).toMatchObject({
    ...{ user: 'lea', title: `Overdue. Approve? tag=x · late (${agent})`, tag: ann.messages[0]?.message.tag },
    seen: ann.messages[0]?.message.seen,
  });
  await deny(turn);
  await Promise.all([ann, lea].map((one) => arrived(one, 2)));
  for (const { messages } of [ann, lea])
    expect(messages.map(({ message }) => message.isOver === true)).toEqual([false, true]);
});

it('is tried by `doctor --send`, which says whose browser it did not find', async () => {
  const test = (to: string) =>
    runCli(['doctor', '--send', '--channels', 'notify.yaml', '--as', to], settings());
  const ann = await subscribe('ann');
  expect(await test('ann')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^ok +channel browsers {2}sent to web push/),
  });
  expect(ann.messages).toMatchObject([{ message: { title: 'Test: notifications', place: '#/' } }]);
  expect(ann.messages[0]?.message.seen).toBeUndefined();
  expect(await test('lea')).toMatchObject({ code: 1, out: expect.stringContaining('lea has no browser') });
});

it('reaches no push service on a private address that nobody named, and takes no other key', async () => {
  const ask = await asUser('ann');
  const { subscription } = service.browser();
  const away = { ...subscription, endpoint: 'http://127.0.0.1:9/send' };
  const refused = await ask({ method: 'POST', body: JSON.stringify(away) });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('sends nothing to')]);
  const { code, err } = await runCli(['web', 'push-key', 'push.key'], settings());
  expect([code, err]).toEqual([2, expect.stringContaining('is there already')]);
  await runCli(['web', 'push-key', 'other.key'], settings());
  const file = join(directory(), 'notify.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('push.key', 'other.key'));
  const other = await runCli([...WATCH, '--once'], settings());
  expect([other.code, other.err]).toEqual([2, expect.stringContaining('is not the one of `publicKey`')]);
  expect(service.posts()).toBe(0);
});
