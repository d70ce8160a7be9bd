import { randomUUID } from 'node:crypto';
import { connect, type Countersign, type Session, type SessionOptions } from '../../src/client';
import type { ScriptedReply } from '../../src/models/scripted';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

/** A server that suggests to continue as new after a few events: a run of a session has a turn or two. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const look = recordTool(effects, { name: 'look' });
  const agent = (name: string, more: Partial<AgentOptions>) =>
    defineAgent({ name, instructions: 'do', model: book.model, tools: [look], ...more });
  const free = agent('free', {});
  fixture = await startFixture({
    ownServer: { dynamicConfig: [SUGGEST] },
    ...{ currency: 'EUR', prices: { book: { input: 1000, output: 2000 } } },
    agents: [
      agent('ends', { sessionBudget: { tokens: 250 } }),
      agent('asks', { sessionBudget: { tokens: 250, then: 'ask' } }),
      agent('parent', { sessionBudget: { tokens: 250 }, tools: [look, agentTool(free)] }),
      free,
    ],
  });
  client = await connect({ address: fixture.address });
});
afterAll(() => client.close());

const usage = { inputTokens: 60, outputTokens: 40, totalTokens: 100 };
const answer = (text: string): ScriptedReply => ({ text, usage });
const open = (agent: string, options: SessionOptions = {}): Session =>
  client.session(`s-${randomUUID()}`, { agent, taskQueue: fixture.taskQueue, ...options });

/** Says something, and waits until so many turns are over. */
const turns = async (session: Session, prompt: string, count: number) => {
  await session.send(prompt);
  return until(`${count} turns`, async () => {
    const view = await session.history();
    const over = view.turns.filter(({ status }) => status !== 'running');
    return over.length >= count && view;
  });
};

test('what turns spend is counted over runs; used up, no model is asked any more', async () => {
  const session = open('ends');
  for (const n of [1, 2, 3]) await turns(session, book.add(answer(`answer ${n}`)), n);
  const view = await turns(session, book.add(answer('never')), 4);
  expect(view.turns.map(({ status }) => status)).toEqual(['answered', 'answered', 'answered', 'budget']);
  expect(view).toMatchObject({
    budget: { tokens: 250 },
    spent: { tokens: 300, steps: 3, money: { EUR: 0.42 } },
  });
  const { count } = await fixture.client.workflow.count(`WorkflowId = '${session.id}'`);
  expect(count).toBeGreaterThan(1);
  const last = await fixture.client.workflow.getHandle(`${session.id}.t4`).result();
  expect(last).toMatchObject({
    status: 'budget',
    steps: 0,
    why: 'its session has spent 300 tokens, and its budget is 250 tokens',
  });
});

test('asks in the inbox, with what was spent; what is added stays with the session', async () => {
  const session = open('asks');
  for (const n of [1, 2, 3]) await turns(session, book.add(answer(`answer ${n}`)), n);
  await session.send(book.add(answer('after asking')));
  const asking = fixture.client.workflow.getHandle(`${session.id}.t4`);
  await until('turn 4', async () => (await session.state()).turn === asking.workflowId);
  await waitFor(asking, '0.budget');
  const [request] = (await client.view(asking.workflowId)).requests;
  expect(request).toMatchObject({ tool: 'raise_session_budget', arguments: { tokens: 250 } });
  expect(request?.policyReason).toContain('its session has spent 300 tokens, and its budget is 250 tokens');
  expect(request?.policyReason).toContain("The session's budget: 250 tokens");
  await decide(asking, {
    callId: '0.budget',
    decision: 'approved',
    ...(await seenOf(asking, '0.budget')),
  });
  const view = await turns(session, book.add(answer('with what was added')), 5);
  expect(view.turns.at(-1)).toMatchObject({ status: 'answered', answer: 'with what was added' });
  expect(view).toMatchObject({ budget: { tokens: 500, then: 'ask' }, spent: { tokens: 500 } });
  // The budget of the turn itself was not raised.
  expect((await client.view(asking.workflowId)).budget?.tokens).toBeUndefined();
});

test('whoever starts a session makes its budget smaller; a turn that is cancelled in a later run counts', async () => {
  const session = open('free', { budget: { steps: 2 } });
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'x' } }], usage };
  let asked = (): void => undefined;
  const wasAsked = new Promise<void>((resolve) => (asked = resolve));
  const hangs = ({ signal }: { signal?: AbortSignal }) =>
    new Promise<ScriptedReply>((_, reject) => {
      asked();
      signal?.addEventListener('abort', () => reject(new Error('ended')));
    });
  await session.send(book.add(look, hangs));
  await wasAsked;
  await session.cancelTurn();
  await until('the end of turn 1', async () => (await session.history()).turns[0]?.status === 'cancelled');
  await until('what turn 1 spent', async () => (await session.history()).spent.steps === 1);
  await turns(session, book.add(answer('second')), 2);
  const view = await turns(session, book.add(answer('never')), 3);
  expect(view.turns.map(({ status }) => status)).toEqual(['cancelled', 'answered', 'budget']);
});

test('a child turn gets what is left of its session', async () => {
  const session = open('parent');
  await turns(session, book.add(answer('one')), 1);
  const look = (tag: string) => ({ toolCalls: [{ name: 'look', arguments: { tag } }], usage });
  const task = book.add(look('a'), look('b'), look('c'));
  const view = await turns(
    session,
    book.add({ toolCalls: [{ name: 'free', arguments: { task } }], usage }),
    2,
  );
  expect(view).toMatchObject({ spent: { tokens: 300, steps: 3 }, turns: [{}, { status: 'budget' }] });
  const [call] = (await client.view(`${session.id}.t2`)).calls;
  expect(call?.result?.error?.message).toContain('its budget is 50 tokens');
});

test.each([{ tokens: -1 }, { speed: 1 }, { steps: NaN }])('%j cannot be a budget', async (budget) => {
  const session = open('free', { budget: budget as never });
  await expect(session.send('x')).rejects.toMatchObject({ code: 'usage' });
});
