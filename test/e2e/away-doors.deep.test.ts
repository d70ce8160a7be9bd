import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awayText } from '../../src/authority/away-statement';
import { openInboxKey } from '../../src/authority/inbox-key';
import { signText } from '../../src/authority/sign-statement';
import { AWAY_NAMESPACE } from '../../src/authority/ssh-signature';
import { type Away, awayTerms, connect, type Countersign } from '../../src/client';
import type { CallView } from '../../src/history/view';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import {
  APP_TOKEN,
  BOT_TOKEN,
  shownIn,
  type SlackServer,
  startSlackServer,
  submitOf,
} from '../cli/notify/slack-server';
import { useCommands } from '../cli/process';
import { endTyped, typed, type Typed } from '../cli/typed';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { until } from '../support/until';
import { needs } from '../support/parts';

needs('ssh');

const effects = useEffects();
const book = scriptBook();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const HOUR = 3_600_000;
let fixture: Fixture;
let client: Countersign;
let [approvers, inboxKey] = ['', ''];
let slack: SlackServer;
const startCommand = useCommands();
const directory = scratchDirectory();

const keyOf = (name: string): string => join(fixture.directory, name);
const lineOf = (name: string): string => readFileSync(`${keyOf(name)}.pub`, 'utf8').trim();

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  for (const name of ['dora', 'xena'])
    sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', keyOf(name)]);
  inboxKey = join(fixture.directory, 'inbox.pem');
  const { line } = await openInboxKey(inboxKey);
  approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(
    approvers,
    `
installation: '${INSTALLATION}'
people:
  dora: { slack: UDORA, keys: ['${lineOf('dora')}'] }
  xena: { slack: UXENA, keys: ['${lineOf('xena')}'] }
  yan: { slack: UYAN }
inboxKeys: ['${line}']
rules:
  - { name: own key, tools: [pay, lose], then: ask, approvers: { any: [dora] }, assurance: signed_ssh }
  - { name: here, tools: [note], then: ask, approvers: { any: [dora] }, assurance: signed_in }
  - { name: default, then: by_safety }
`,
  );
  const dangerous = { safety: 'dangerous', effect: 'unsafe' } as const;
  const tools = [
    recordTool(effects, { name: 'pay', ...dangerous }),
    recordTool(effects, { name: 'note', ...dangerous }),
    recordTool(effects, { name: 'lose', ...dangerous }, (_, { idempotencyKey }) => {
      if (idempotencyKey.endsWith(':0')) throw new TransportError('the line broke');
    }),
  ];
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ client: fixture.client });
});
afterEach(async () => {
  endTyped();
  for (const { turn } of await client.inbox({})) await client.cancel(turn, undefined);
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
});

const ended = (turn: string) => until('the end', async () => (await client.view(turn)).endedAt !== null);
const callOf = async (turn: string): Promise<CallView | undefined> => (await client.view(turn)).calls[0];

/** Starts a turn that asks for one call, and waits until the inbox has it. */
async function asked(name: string, tag: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, readBack);
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await until('it in the inbox', async () => (await client.inbox({})).some((item) => item.turn === turn));
  return turn;
}

/** Dora leaves for an hour, with xena in her place, and signs that with OpenSSH's own program. */
async function leave(): Promise<Away> {
  const start = Date.now();
  const terms = awayTerms({ from: 'dora', to: 'xena' }, { start, end: start + HOUR });
  const text = awayText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const { armored } = await signText(text, { keyFile: keyOf('dora'), namespace: AWAY_NAMESPACE });
  return client.away.put({
    ...terms,
    signature: { kind: 'ssh', armored, at: terms.at, notAfter: terms.end },
  });
}

const review = (...more: string[]): Typed =>
  typed(['review', '--as', 'xena', ...more], {
    ...{ PATH: process.env['PATH'], TEMPORAL_ADDRESS: fixture.address, XDG_STATE_HOME: directory() },
  });
const signing = (): string[] => ['--sign', keyOf('xena'), '--approvers', approvers];

/** Approves a call whose end nobody knows then, and waits until the inbox says so. */
async function approveInDoubt(turn: string): Promise<void> {
  const terminal = review(...signing());
  await terminal.answer('Your decision', 'a');
  await terminal.answer('as it is? [y/N] ', 'y');
  expect(await terminal.ended).toBe(0);
  await until('the doubt', async () =>
    (await client.inbox({})).some((one) => one.turn === turn && one.kind === 'in_doubt'),
  );
}

it('are a review at the terminal, which says in whose place the vote is and signs it', async () => {
  const { id: entry } = await leave();
  const turn = await asked('pay', 'reviewed');
  const terminal = review(...signing(), '--mine');
  await terminal.answer('Your decision', 'a');
  await terminal.sees('you vote in place of dora, who is away; it ends in');
  await terminal.answer('as it is? [y/N] ', 'y');
  expect(await terminal.ended).toBe(0);
  expect(terminal.shown()).toMatch(/inPlaceOf +dora, /);
  await ended(turn);
  expect(await effects.lines('reviewed')).toEqual(['pay reviewed']);
  expect((await callOf(turn))?.votes).toEqual([
    { voter: 'xena', decision: 'approved', inPlaceOf: { person: 'dora', entry }, signedBy: 'ssh' },
  ]);
});

it('are a denial in a review, with a reason that the model reads', async () => {
  await leave();
  const turn = await asked('pay', 'denied');
  const terminal = review('--mine', '--approvers', approvers);
  await terminal.answer('Your decision', 'd');
  await terminal.answer('Why not? The model reads it: ', 'she would not');
  expect(await terminal.ended).toBe(0);
  await ended(turn);
  expect((await callOf(turn))?.decisions).toMatchObject([
    { decision: 'denied', approver: 'xena', inPlaceOf: { person: 'dora' }, reason: 'she would not' },
  ]);
  expect(await effects.lines('denied')).toEqual([]);
});

it('are running a call in doubt again, in a review, with a signature that says so', async () => {
  const { id: entry } = await leave();
  const turn = await asked('lose', 'again');
  await approveInDoubt(turn);
  const terminal = review(...signing());
  await terminal.answer('How it ended', 'r');
  await terminal.answer('How do you know? The model reads it: ', 'the bank has nothing');
  await terminal.answer('Start it once more? [y/N] ', 'y');
  expect(await terminal.ended).toBe(0);
  await ended(turn);
  expect(await effects.lines('again')).toEqual(['lose again', 'lose again']);
  const call = await callOf(turn);
  expect(call?.resolutions).toMatchObject([
    { resolution: 'run-again', approver: 'xena', inPlaceOf: { person: 'dora', entry } },
  ]);
  expect(call?.votes).toMatchObject([{ voter: 'xena', inPlaceOf: { person: 'dora' }, signedBy: 'ssh' }]);
});

it('leave a call in doubt as it is where who was away is back', async () => {
  const { id } = await leave();
  const turn = await asked('lose', 'back');
  await approveInDoubt(turn);
  const terminal = review(...signing());
  await terminal.sees('How it ended');
  await client.away.end({ id, by: 'dora' });
  await terminal.answer('How it ended', 'r');
  await terminal.answer('How do you know? The model reads it: ', 'the bank has nothing');
  await terminal.answer('Start it once more? [y/N] ', 'y');
  await terminal.answer(/not_allowed[^]*these may: dora[^]*How it ended/, 'q');
  expect(await terminal.ended).toBe(0);
  expect(await callOf(turn)).toMatchObject({ phase: 'in_doubt' });
  expect(await effects.lines('back')).toEqual(['lose back']);
});

describe('in Slack', () => {
  beforeEach(async () => {
    slack = await startSlackServer();
    writeFileSync(
      join(directory(), 'notify.yaml'),
      `
page: https://inbox.example.org
approvers: ${approvers}
channels:
  team: { kind: slack, api: '${slack.api}', inboxKey: ${inboxKey}, to: [C1] }
`,
    );
  });
  /** Begins after somebody left: it knows who is away as it was a few seconds ago. */
  const watch = async (): Promise<void> => {
    const env = {
      ...{ TEMPORAL_ADDRESS: fixture.address, XDG_STATE_HOME: directory() },
      ...{ COUNTERSIGN_SLACK_TOKEN: BOT_TOKEN, COUNTERSIGN_SLACK_APP_TOKEN: APP_TOKEN },
    };
    startCommand(['watch', '--channels', join(directory(), 'notify.yaml')], { env });
    await until('a socket', () => slack.sockets() > 0);
  };
  afterEach(() => slack.close());
  const posted = (turn: string) =>
    until('the message', () => slack.messages.find((one) => shownIn(one).includes(turn)));

  it('are a click, signed as signed in; nobody else clicks in her place', async () => {
    const { id: entry } = await leave();
    await watch();
    const turn = await asked('note', 'clicked');
    const message = await posted(turn);
    slack.send(slack.press(message, 'Approve', 'UYAN'));
    await until('a refusal', () => slack.whispers.length === 1);
    expect(slack.whispers[0]?.text).toMatch(/^Refused: .*yan.*these may: dora/);
    slack.send(slack.press(message, 'Approve', 'UXENA'));
    await ended(turn);
    expect(await effects.lines('clicked')).toEqual(['note clicked']);
    expect((await callOf(turn))?.votes).toEqual([
      { voter: 'xena', decision: 'approved', inPlaceOf: { person: 'dora', entry }, signedBy: 'inbox' },
    ]);
    await until('the change', () => shownIn(message).includes('now: '));
    expect(shownIn(message)).toMatch(/now: approved by xena/);
  });

  it('are a denial with a reason', async () => {
    await leave();
    await watch();
    const turn = await asked('note', 'no click');
    const message = await posted(turn);
    slack.send(slack.press(message, 'Deny', 'UXENA'));
    const view = await until('the window', () => slack.views[0]);
    slack.send(submitOf(view, 'not today', 'UXENA'));
    await ended(turn);
    expect((await callOf(turn))?.decisions).toMatchObject([
      { decision: 'denied', approver: 'xena', inPlaceOf: { person: 'dora' }, reason: 'not today' },
    ]);
    expect(await effects.lines('no click')).toEqual([]);
  });

  it('are none once she is back', async () => {
    const { id } = await leave();
    await client.away.end({ id, by: 'dora' });
    await watch();
    const turn = await asked('note', 'came back');
    const message = await posted(turn);
    slack.send(slack.press(message, 'Approve', 'UXENA'));
    await until('a refusal', () => slack.whispers.length === 1);
    expect(slack.whispers[0]?.text).toMatch(/^Refused: .*xena.*these may: dora/);
    expect(await effects.lines('came back')).toEqual([]);
  });
});
