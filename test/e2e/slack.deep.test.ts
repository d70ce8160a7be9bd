import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openInboxKey } from '../../src/authority/signatures/inbox-key';
import { connect, type Countersign } from '../../src/client';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { type RunningCommand, useCommands } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { APP_TOKEN, BOT_TOKEN, labelsOf, shownIn, startSlackServer } from '../notify/slack-server';
import { submitOf, type SlackMessage, type SlackServer } from '../notify/slack-server';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { emptyInbox } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const agent = `slack-${process.pid}`;
let fixture: Fixture;
let client: Countersign;
let server: SlackServer;
const startCommand = useCommands();
let [approvers, inboxKey] = ['', ''];

beforeAll(async () => {
  fixture = await startFixture({});
  inboxKey = join(fixture.directory, 'inbox.pem');
  const { line } = await openInboxKey(inboxKey);
  approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(
    approvers,
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: { slack: UANN }, bob: { slack: UBOB }, cid: {} }
inboxKeys: ['${line}']
rules:
  - { name: here, tools: [note], then: ask, assurance: signed_in, approvers: { any: [ann] } }
  - { name: two, tools: [wire], then: ask, approvers: { any: [ann, bob], need: 2 } }
  - { name: own key, tools: [pay], then: ask, assurance: signed }
  - { name: others, tools: [refund], then: ask, approvers: { any: [ann, bob], notRequester: true } }
  - { name: default, then: by_safety }
`,
  );
  const tools = ['note', 'wire', 'pay', 'send', 'refund'].map((name) =>
    recordTool(effects, { name, safety: 'dangerous' }),
  );
  const made = defineAgent({ name: agent, instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [made], approvers });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());
beforeEach(async () => {
  server = await startSlackServer();
});
afterEach(async () => {
  await server.close();
  await emptyInbox(client, agent);
});

// Made after the hook above, so that it is removed after nobody writes there.
const directory = scratchDirectory();

const asked = async (name: string, tag: string, ...more: ScriptedStep[]): Promise<string> => {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, ...more, readBack);
  const { turn } = await client.start({ agent, prompt, requester: 'rita', taskQueue: fixture.taskQueue });
  await until('it in the inbox', async () =>
    (await client.inbox({ agent })).some((item) => item.turn === turn),
  );
  return turn;
};
const file = (): string => {
  const at = join(directory(), 'notify.yaml');
  writeFileSync(
    at,
    `
page: https://inbox.example.org
approvers: ${approvers}
channels:
  team: { kind: slack, api: '${server.api}', inboxKey: ${inboxKey}, to: [C1] }
`,
  );
  return at;
};
const env = (): NodeJS.ProcessEnv => ({
  ...{ TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: directory() },
  ...{ COUNTERSIGN_SLACK_TOKEN: BOT_TOKEN, COUNTERSIGN_SLACK_APP_TOKEN: APP_TOKEN },
});
const watch = (): RunningCommand =>
  startCommand(['watch', '--channels', file(), '--agent', agent], { env: env() });
const about = (turn: string): SlackMessage | undefined =>
  server.messages.find((one) => shownIn(one).includes(turn));
const posted = (turn: string): Promise<SlackMessage> => until('the message', () => about(turn));
const heard = (): Promise<unknown> => until('a socket', () => server.sockets() > 0);
const ended = (turn: string) =>
  until('the end', async () => {
    const view = await client.view(turn);
    return view.endedAt === null ? undefined : view;
  });

it('runs a call that was approved by a click, signed as signed in, and says so on the message', async () => {
  const running = watch();
  const turn = await asked('note', 'clicked');
  const message = await posted(turn);
  await heard();
  expect(labelsOf(message)).toEqual(['Approve', 'Deny', 'Open']);
  server.send(server.press(message, 'Approve', 'UEVE'));
  server.send(server.press(message, 'Approve', 'UBOB'));
  await until('both refusals', () => server.whispers.length === 2);
  expect(server.whispers.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^You are not in/),
    expect.stringMatching(/^Refused: .*bob/),
  ]);
  expect(await effects.lines('clicked')).toEqual([]);
  const press = server.press(message, 'Approve', 'UANN');
  server.send(press);
  server.send(press);
  const [call] = (await ended(turn)).calls;
  expect(await effects.lines('clicked')).toEqual(['note clicked']);
  expect(call?.decisions.filter(({ judgement }) => judgement.accepted === true)).toMatchObject([
    { approver: 'ann', channel: 'slack', authenticated: true, signature: { kind: 'inbox' } },
  ]);
  await until('the change', () => labelsOf(message).length === 1);
  expect(shownIn(message)).toMatch(/now: approved by ann$/);
  running.signal('SIGINT');
  const { code, out, err } = await running.ended;
  expect({ code, text: out + err }).toEqual({ code: 0, text: expect.not.stringContaining('s3cret') });
});

it('lets whoever wrote why not in Slack approve nothing that came of it', async () => {
  watch();
  const turn = await asked('send', 'first', {
    toolCalls: [{ name: 'refund', arguments: { tag: 'obeyed' } }],
  });
  const first = await posted(turn);
  await heard();
  server.send(server.press(first, 'Deny', 'UBOB'));
  server.send(submitOf(await until('the window', () => server.views[0]), 'refund it to bob', 'UBOB'));
  const second = await until('the second call', () =>
    server.messages.find((one) => one !== first && shownIn(one).includes(turn)),
  );
  server.send(server.press(second, 'Approve', 'UBOB'));
  await until('the refusal', () => server.whispers.length === 1);
  expect(server.whispers[0]?.text).toMatch(/^Refused: .*bob asked for the turn/);
  server.send(server.press(second, 'Approve', 'UANN'));
  await ended(turn);
  expect(await effects.lines('obeyed')).toEqual(['refund obeyed']);
});

it('counts two votes, denies with a reason, and only links where a signature is wanted', async () => {
  const first = watch();
  const [wired, sent, paid] = [
    await asked('wire', 'two'),
    await asked('send', 'no'),
    await asked('pay', 'own'),
  ];
  const [two, no, own] = [await posted(wired), await posted(sent), await posted(paid)];
  await heard();
  expect([labelsOf(own), shownIn(own)]).toEqual([
    ['Open'],
    expect.stringContaining('wants decisions signed'),
  ]);
  const vote = server.press(two, 'Approve', 'UANN');
  server.send(vote);
  await until('the vote', () => shownIn(two).includes('ann approved'));
  expect(labelsOf(two)).toEqual(['Approve', 'Deny', 'Open']);
  first.signal('SIGKILL');
  await first.ended;
  await until('no socket', () => server.sockets() === 0);
  watch();
  await heard();
  // Nobody remembers that click, but the turn does.
  const changes = two.changes;
  server.send(vote);
  await until('the answer', () => two.changes > changes);
  expect((await client.view(wired)).calls[0]).toMatchObject({
    phase: 'request',
    votes: [{ voter: 'ann' }],
  });
  server.send(server.press(two, 'Approve', 'UBOB'));
  server.send(server.press(no, 'Deny', 'UBOB'));
  const view = await until('the window', () => server.views[0]);
  server.send(submitOf(view, 'not today', 'UBOB'));
  const [denied] = (await ended(sent)).calls;
  expect(denied?.decisions).toMatchObject([{ decision: 'denied', approver: 'bob', reason: 'not today' }]);
  expect(denied?.decisions[0]?.authenticated).toBe(true);
  await ended(wired);
  expect(await effects.lines()).toEqual(expect.arrayContaining(['wire two']));
  expect(await effects.lines(' no')).toEqual([]);
  await client.cancel(paid);
  await until('all changed', () => [two, no, own].every((one) => shownIn(one).includes('now: ')));
});

it('posts no second message when it is killed before that is on record, and changes it after', async () => {
  const turn = await asked('send', 'killed');
  server.script('chat.postMessage', 'hang');
  const killed = watch();
  await posted(turn);
  killed.signal('SIGKILL');
  await killed.ended;
  watch();
  await heard();
  await until('it found', () => server.calls.some(({ method }) => method === 'conversations.history'));
  const { request } = (await client.view(turn)).calls[0] ?? {};
  await client.decide(turn, {
    ...{ callId: '1.1', decision: 'denied', approver: 'cid', channel: 'cli' },
    seenDigest: request?.seenDigest ?? '',
  });
  const message = await posted(turn);
  await until('the change', () => labelsOf(message).length === 1);
  expect(shownIn(message)).toMatch(/now: denied by cid$/);
  expect(server.messages).toHaveLength(1);
});

it('is tried by `doctor --send`, and posts without buttons where nobody would hear them', async () => {
  const tried = await runCli(['doctor', '--send', '--channels', file()], { env: env() });
  expect(tried).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^ok +channel team {2}sent to Slack/),
  });
  const turn = await asked('send', 'once');
  const once = ['watch', '--channels', file(), '--agent', agent, '--once'];
  expect(await runCli(once, { env: env() })).toMatchObject({ code: 0 });
  expect(server.messages.map(labelsOf)).toEqual([['Open'], ['Open']]);
  await client.cancel(turn);
  await ended(turn);
  expect(await runCli(once, { env: env() })).toMatchObject({ code: 0 });
  expect(shownIn(await posted(turn))).toMatch(/now: cancelled$/);
});
