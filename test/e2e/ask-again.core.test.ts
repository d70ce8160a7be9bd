import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { SIGNALS } from '../../src/contract/names';
import type { CallView } from '../../src/history/view';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let file = '';

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { groups: [finance] }
  bob: { groups: [finance] }
  cleo: { groups: [leads] }
  dora: {}
roles: { admins: [dora] }
rules:
  - name: payments
    tools: [pay]
    then: ask
    approvers: { any: ['group:finance'], need: 2 }
  - name: default
    then: by_safety
`;
/** Both who were named have left. */
const LATER = FILE.replaceAll('groups: [finance]', 'groups: [left]')
  .replace("any: ['group:finance'], need: 2", 'any: [cleo]')
  .replace('name: payments', 'name: new payments');
const REFUSES = FILE.replace(/then: ask\n.*/, 'then: refuse');

beforeAll(async () => {
  fixture = await startFixture({});
  file = join(fixture.directory, 'approvers.yaml');
  await writeFile(file, FILE);
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'unsafe' })];
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers: file });
  client = await connect({ address: testAddress() });
});
beforeEach(() => change(FILE));
afterAll(() => client.close());

async function asked(tag: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

const callOf = async (turn: string): Promise<CallView> => {
  const [call] = (await client.view(turn)).calls;
  if (call === undefined) throw new Error('no call');
  return call;
};

const nameOf = ({ request, result }: CallView): string | undefined =>
  result === undefined ? request?.authority?.rule.name : 'refused';

/** Writes the file and waits until the worker has seen it: it looks at most once a second. */
async function change(text: string): Promise<void> {
  await writeFile(file, text);
  const wanted = text === LATER ? 'new payments' : text === REFUSES ? 'refused' : 'payments';
  await until('the file to be read', async () => {
    const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'probe' } }] }, { text: 'done' });
    const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
    await until('the probe', async () => {
      const [call] = (await client.view(turn)).calls;
      return call?.phase === 'request' || call?.result !== undefined;
    });
    const name = nameOf(await callOf(turn));
    await client.cancel(turn);
    return name === wanted;
  });
}

async function say(turn: string, decision: Decision['decision'], approver: string): Promise<unknown> {
  const { request } = await callOf(turn);
  const seen = request && { seenDigest: request.seenDigest, callKey: request.callKey };
  const reason = decision === 'ask-again' ? 'both have left' : undefined;
  const answer = await client.decide(turn, {
    ...{ callId: '1.1', decision, approver, ...seen },
    ...(reason === undefined ? {} : { reason }),
  });
  return answer.status === 'recorded' ? answer : answer.verdict;
}

const again = async (turn: string, before: CallView): Promise<CallView> => {
  const eventId = before.request?.eventId;
  let call = before;
  await until('it to be asked again', async () => {
    call = await callOf(turn);
    return call.phase === 'request' && call.request?.eventId !== eventId;
  });
  return call;
};

test('a request that nobody is left to decide comes under the rule of today, without its votes', async () => {
  const turn = await asked('left');
  await say(turn, 'approved', 'anna');
  await change(LATER);
  expect(await say(turn, 'approved', 'cleo')).toMatchObject({ code: 'not_allowed' });
  const before = await callOf(turn);
  expect(await say(turn, 'ask-again', 'dora')).toMatchObject({ accepted: true, asksAgain: true });
  expect(await again(turn, before)).toMatchObject({
    votes: [],
    request: { authority: { rule: { name: 'new payments', need: 1, rosters: [['cleo']] } } },
  });
  expect(await effects.lines('left')).toEqual([]);
  expect(await say(turn, 'approved', 'bob')).toMatchObject({ code: 'not_allowed' });
  await say(turn, 'approved', 'cleo');
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('left')).toEqual(['pay left']);
  const said = (await client.timeline(turn)).filter(({ type }) => type === 'decision');
  expect(said).toContainEqual(
    expect.objectContaining({ decision: 'ask-again', approver: 'dora', reason: 'both have left' }),
  );
});

test.each<[string, string, string, RegExp]>([
  ['somebody who is not an admin', FILE, 'bob', /bob is not an admin.*these are: dora/],
  ['somebody who is not in the file', FILE, 'mallory', /mallory is not an admin/],
  ['an admin, where the rules of today refuse the call', REFUSES, 'dora', /refuses it/],
])('nothing comes of it for %s: votes and time stay', async (_, text, approver, note) => {
  const turn = await asked('stays');
  await say(turn, 'approved', 'anna');
  await change(text);
  const before = await callOf(turn);
  await say(turn, 'ask-again', approver);
  const { request, votes } = await again(turn, before);
  expect(request).toMatchObject({ note, deadline: before.request?.deadline });
  expect(request?.authority).toEqual(before.request?.authority);
  expect(votes).toEqual(before.votes);
  expect(await effects.lines('stays')).toEqual([]);
  await client.cancel(turn);
});

test("a forged signal of Temporal's own gets no call to run, and costs nobody their vote", async () => {
  const turn = await asked('forged');
  await say(turn, 'approved', 'anna');
  const before = await callOf(turn);
  const handle = fixture.client.workflow.getHandle(turn);
  const forged = { callId: '1.1', decision: 'ask-again', approver: 'anna', reason: 'mine' };
  await handle.signal(SIGNALS.approval, { ...forged, signature: 'x' });
  await handle.signal(SIGNALS.approval, { ...forged, reason: '' });
  await handle.signal(SIGNALS.approval, forged);
  const { votes, request } = await again(turn, before);
  expect(request?.note).toMatch(/anna is not an admin/);
  expect(votes).toMatchObject([{ voter: 'anna' }]);
  await say(turn, 'approved', 'bob');
  await handle.result();
  expect(await effects.lines('forged')).toEqual(['pay forged']);
});
