import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { SIGNALS } from '../../src/contract/names';
import type { CallView } from '../../src/history/view';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { groups: [finance] }
  bob: { groups: [finance] }
  cleo: {}
  dora: { groups: [finance] }
roles: { admins: [cleo] }
rules:
  - name: no money
    tools: [raise_budget]
    when: has(args.tokens) && args.tokens > 5000
    then: refuse
  - name: signed budgets
    tools: [raise_budget, raise_session_budget]
    agents: [sealed]
    then: ask
    assurance: signed
  - name: budgets
    tools: [raise_budget]
    then: ask
    approvers: { any: ['group:finance'], notRequester: true }
  - name: default
    then: by_safety
`;

beforeAll(async () => {
  fixture = await startFixture({});
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(file, FILE);
  const tools = [recordTool(effects, { name: 'look' })];
  const agents = ['asks', 'sealed', 'large'].map((name) => {
    const budget = { tokens: name === 'large' ? 6000 : 250, then: 'ask' as const };
    return defineAgent({ name, instructions: 'do', model: book.model, tools, budget });
  });
  await fixture.addWorker({}, { agents, approvers: file });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const BUDGET = '2.budget';

async function start(agent: string, tokens = 150, taskQueue = fixture.taskQueue): Promise<TurnHandle> {
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'x' } }], usage: { totalTokens: tokens } };
  const prompt = book.add(look, look, { text: 'done' });
  const { turn } = await client.start({ agent, prompt, taskQueue, requester: 'bob' });
  return fixture.client.workflow.getHandle(turn);
}

async function asked(agent: string): Promise<TurnHandle> {
  const handle = await start(agent);
  await waitFor(handle, BUDGET);
  return handle;
}

const callOf = async ({ workflowId }: TurnHandle): Promise<CallView> => {
  const call = (await client.view(workflowId)).calls.find(({ callId }) => callId === BUDGET);
  if (call === undefined) throw new Error('no request for more');
  return call;
};

async function say(handle: TurnHandle, approver: string, more: Partial<Decision> = {}): Promise<unknown> {
  const { request } = await callOf(handle);
  const seen = request && { seenDigest: request.seenDigest, callKey: request.callKey };
  const decision = { callId: BUDGET, decision: 'approved' as const, approver, ...seen, ...more };
  const answer = await client.decide(handle.workflowId, decision);
  return answer.status === 'recorded' ? answer : answer.verdict;
}

test('only those whom the rule names raise a budget, and the timeline says so', async () => {
  const handle = await asked('asks');
  expect((await callOf(handle)).request).toMatchObject({
    tool: 'raise_budget',
    arguments: { tokens: 250 },
    authority: { rule: { name: 'budgets' }, requesters: ['bob'] },
  });
  for (const approver of ['cleo', 'bob', 'mallory'])
    expect(await say(handle, approver)).toMatchObject({
      ...{ accepted: false, code: 'not_allowed' },
      message: expect.stringContaining('these may: anna'),
    });
  expect(await say(handle, 'anna')).toMatchObject({ accepted: true });
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: 'done' });
  const view = await client.view(handle.workflowId);
  expect(view.budget).toMatchObject({ tokens: 500 });
  expect(await callOf(handle)).toMatchObject({ phase: 'done', result: { content: '250 tokens more' } });
});

test('an edited amount is matched anew', async () => {
  const handle = await asked('asks');
  const edit = (tokens: number) => ({ decision: 'modified' as const, arguments: { tokens } });
  expect(await say(handle, 'cleo', edit(300))).toMatchObject({ code: 'not_allowed' });
  expect(await say(handle, 'anna', edit(9000))).toMatchObject({ asksAgain: true });
  await until('it to be refused', async () => (await callOf(handle)).request?.note !== undefined);
  expect((await callOf(handle)).request).toMatchObject({
    note: expect.stringContaining("the rule 'no money' of the approvers file refuses it"),
    arguments: { tokens: 250 },
  });
  expect(await say(handle, 'anna', edit(400))).toMatchObject({ asksAgain: true });
  await until('it to be so', async () => (await callOf(handle)).request?.arguments['tokens'] === 400);
  expect((await callOf(handle)).request?.policyReason).toMatch(/the turn cannot go on/);
  await say(handle, 'dora');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect((await client.view(handle.workflowId)).budget).toMatchObject({ tokens: 650 });
});

test('a rule can refuse more: then nobody is asked, and the turn ends', async () => {
  const handle = await start('large', 4000);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'budget', counts: { requests: 0 } });
  expect(result.why).toContain("the rule 'no money' of the approvers file refuses it");
});

test('a request for more can be asked again, too', async () => {
  const handle = await asked('asks');
  const { request } = await callOf(handle);
  await say(handle, 'cleo', { decision: 'ask-again', reason: 'the file changed' });
  await until('it to be so', async () => {
    const now = (await callOf(handle)).request;
    return now !== undefined && now.eventId !== request?.eventId;
  });
  expect((await callOf(handle)).request).toMatchObject({ authority: { rule: { name: 'budgets' } } });
  await say(handle, 'anna');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
});

test("Temporal's own signal raises nothing where the rule wants a signature", async () => {
  const handle = await asked('sealed');
  const { request } = await callOf(handle);
  const forged = { callId: BUDGET, decision: 'approved', seenDigest: request?.seenDigest };
  await handle.signal(SIGNALS.approval, { ...forged, approver: 'mallory' });
  await handle.signal(SIGNALS.approval, { ...forged, approver: 'anna', authenticated: true });
  await until('it to be struck', async () => (await callOf(handle)).request?.note !== undefined);
  expect(await callOf(handle)).toMatchObject({ phase: 'request', votes: [] });
  expect((await callOf(handle)).request?.note).toMatch(/the vote of anna does not count: it is claimed/);
  await client.cancel(handle.workflowId);
  expect((await client.view(handle.workflowId)).budget).toMatchObject({ tokens: 250 });
});

test('a worker checks a raise by its own rules where the request was prepared without any', async () => {
  const queue = { taskQueue: `${fixture.taskQueue}-late-rules` };
  const budget = { tokens: 250, then: 'ask' as const };
  const tools = [recordTool(effects, { name: 'look' })];
  const agents = [defineAgent({ name: 'sealed', instructions: 'do', model: book.model, tools, budget })];
  const first = await fixture.addWorker({}, { agents, ...queue });
  const handle = await start('sealed', 150, queue.taskQueue);
  await waitFor(handle, BUDGET);
  expect((await callOf(handle)).request).not.toHaveProperty('authority', expect.anything());
  await first.stop();
  await fixture.addWorker({}, { agents, ...queue, approvers: join(fixture.directory, 'approvers.yaml') });
  await say(handle, 'mallory');
  await until('it to be asked again', async () => (await callOf(handle)).request?.authority !== undefined);
  expect(await callOf(handle)).toMatchObject({
    phase: 'request',
    request: { authority: { rule: { name: 'signed budgets' } } },
  });
  await client.cancel(handle.workflowId);
  expect((await client.view(handle.workflowId)).budget).toMatchObject({ tokens: 250 });
});
