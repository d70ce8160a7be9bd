import { connect, type Countersign } from '../../src/client';
import type { Budget } from '../../src/contract/spending/budget';
import type { ScriptedReply } from '../../src/models/scripted';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, listedItem, seenOf, waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const tools = [
  recordTool(effects, { name: 'look' }),
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
];
const agent = (name: string, more: Partial<AgentOptions>) =>
  defineAgent({ name, instructions: 'do', model: book.model, tools, ...more });
const free = agent('free', {});

beforeAll(async () => {
  const withChild = { tools: [...tools, agentTool(free), agentTool(free, { name: 'many', effect: 'pure' })] };
  fixture = await startFixture({
    ...{ currency: 'EUR', prices: { book: { input: 1000, output: 2000 } } },
    agents: [
      agent('tokens', { budget: { tokens: 250 }, ...withChild }),
      agent('money', { budget: { money: 0.25 } }),
      agent('steps', { budget: { steps: 2 } }),
      agent('time', { budget: { time: '1ms' } }),
      agent('asks', { budget: { tokens: 250, then: 'ask' }, ...withChild }),
      agent('loops', { limits: { repeats: 2 } }),
      free,
    ],
  });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const usage = { inputTokens: 60, outputTokens: 40, totalTokens: 100 };
const look = (tag: string): ScriptedReply => ({
  text: `looking at ${tag}`,
  toolCalls: [{ name: 'look', arguments: { tag } }],
  usage,
});
const looks = (tag: string, count: number) => Array.from({ length: count }, (_, n) => look(`${tag}-${n}`));

const start = async (name: string, prompt: string, budget?: Budget): Promise<TurnHandle> => {
  const request = { agent: name, prompt, taskQueue: fixture.taskQueue };
  const { turn } = await client.start({ ...request, ...(budget === undefined ? {} : { budget }) });
  return fixture.client.workflow.getHandle(turn);
};

test.each<[string, number, string, Budget | undefined]>([
  ['tokens', 3, 'it has spent 300 tokens, and its budget is 250 tokens', undefined],
  ['tokens', 1, 'it has spent 100 tokens, and its budget is 50 tokens', { tokens: 50 }],
  ['tokens', 3, '250 tokens', { tokens: 5000 }],
  ['money', 2, 'it has spent 0.28 EUR, and its budget is 0.25 EUR', undefined],
  ['steps', 2, 'it has spent 2 steps, and its budget is 2 steps', undefined],
  ['time', 1, 'of work, and its budget is 1 ms of work', undefined],
  ['free', 1, '1 steps', { steps: 1 }],
  ['free', 2, 'it has spent 0.28 EUR, and its budget is 0.25 EUR', { money: 0.25 }],
])('%s: ends after %i steps with words', async (name, steps, words, budget) => {
  const handle = await start(name, book.add(...looks(`end ${name}`, 5)), budget);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'budget', steps, answer: expect.stringContaining('looking at') });
  expect(result.why).toContain(words);
  const view = await client.view(handle.workflowId);
  expect(view).toMatchObject({ status: 'budget', spent: result.spent, error: { message: result.why } });
});

test('an answer that crosses the budget is an answer', async () => {
  const handle = await start('tokens', book.add({ text: 'done', usage: { totalTokens: 900 } }));
  expect(await handle.result()).toMatchObject({ status: 'answered', spent: { tokens: 900, steps: 1 } });
});

test('where a provider does not count, tokens are estimated, and said to be', async () => {
  const handle = await start(
    'tokens',
    book.add({ toolCalls: [{ name: 'look', arguments: { tag: 'x'.repeat(900) } }] }),
  );
  const { status, spent } = await handle.result();
  expect(status).toBe('budget');
  expect(spent?.estimated).toBe(spent?.tokens);
});

const ask = async (tag: string) => {
  const handle = await start('asks', book.add(...looks(tag, 5), { text: 'done', usage }));
  await waitFor(handle, '3.budget');
  return handle;
};

test('asks in the inbox, with what was spent; approved, it adds as much again', async () => {
  const handle = await ask('approved');
  const [request] = (await client.view(handle.workflowId)).requests;
  expect(request).toMatchObject({ tool: 'raise_budget', arguments: { tokens: 250 } });
  expect(request?.policyReason).toContain('it has spent 300 tokens, and its budget is 250 tokens');
  expect(request?.policyReason).toContain('3 calls');
  const item = await listedItem(client, handle.workflowId, { tool: 'raise_budget' });
  expect(item).toMatchObject({ callId: '3.budget', kind: 'request' });
  await decide(handle, { callId: '3.budget', decision: 'approved', ...(await seenOf(handle, '3.budget')) });
  await waitFor(handle, '5.budget');
  await decide(handle, { callId: '5.budget', decision: 'approved', ...(await seenOf(handle, '5.budget')) });
  expect(await handle.result()).toMatchObject({
    status: 'answered',
    answer: 'done',
    counts: { requests: 2 },
  });
  const view = await client.view(handle.workflowId);
  expect(view.budget).toMatchObject({ tokens: 250 + 250 + 500 });
  expect(view.calls.filter(({ tool }) => tool === 'raise_budget')).toMatchObject([
    { phase: 'done', result: { success: true, content: '250 tokens more' } },
    { phase: 'done', result: { success: true, content: '500 tokens more' } },
  ]);
});

test('a person may add another amount, and no amount that does not fit', async () => {
  const handle = await ask('edited');
  const edited = (args: Record<string, number>) => ({
    callId: '3.budget',
    decision: 'modified' as const,
    arguments: args,
  });
  const wrong: Record<string, number>[] = [
    { tokens: 0 },
    { money: 5 },
    { tokens: 1.5 },
    {},
    { tokens: 5, steps: 1 },
  ];
  for (const args of wrong)
    expect(await decide(handle, edited(args))).toMatchObject({ accepted: false, code: 'validation' });
  expect(await decide(handle, edited({ tokens: 10_000 }))).toMatchObject({ accepted: true });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { modified: 1 } });
});

test('denied, the turn ends with words; cancelled, it is cancelled; twice is once', async () => {
  const denied = await ask('denied');
  const no = { callId: '3.budget', decision: 'denied', reason: 'too dear', approver: 'ann' } as const;
  expect(await decide(denied, no)).toMatchObject({ accepted: true });
  const result = await denied.result();
  expect(result).toMatchObject({ status: 'budget', counts: { denied: 1 } });
  expect(result.why).toContain('ann denied this call: too dear');
  const cancelled = await ask('cancelled');
  await cancelled.cancel();
  await expect(cancelled.result()).rejects.toThrow();
  expect((await client.view(cancelled.workflowId)).status).toBe('cancelled');
});

test('a model cannot ask for more budget by itself', async () => {
  const raise = { toolCalls: [{ name: 'raise_budget', arguments: { tokens: 1e9 } }], usage };
  const handle = await start('asks', book.add(raise, readBack));
  await handle.result();
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.result?.error?.code).toBe('tool_not_found');
});

test('a child turn gets what is left and no more; what it spent counts above', async () => {
  const task = book.add(...looks('child', 5));
  const give = { toolCalls: [{ name: 'free', arguments: { task } }], usage };
  const handle = await start('tokens', book.add(give, { text: 'never', usage }));
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'budget', spent: { tokens: 300, steps: 3, money: { EUR: 0.42 } } });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.result?.error?.message).toContain('its budget is 150 tokens');
  const child = await client.view(call?.child ?? '');
  expect(child).toMatchObject({ status: 'budget', budget: { tokens: 150 } });
});

test('several at once share what is left', async () => {
  const task = book.add(...looks('shared', 9));
  const one = { name: 'many', arguments: { task } };
  const handle = await start(
    'tokens',
    book.add({ toolCalls: [one, one, one], usage }, { text: 'never', usage }),
  );
  const { spent } = await handle.result();
  // 150 are left, 50 for each: one step of 100 crosses that.
  expect(spent).toMatchObject({ tokens: 400, steps: 4 });
});

test('of an empty budget no child turn begins', async () => {
  const give = { toolCalls: [{ name: 'free', arguments: { task: 'x' } }], usage: { totalTokens: 400 } };
  const handle = await start('tokens', book.add(give));
  expect(await handle.result()).toMatchObject({ status: 'budget', spent: { tokens: 400, steps: 1 } });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.result?.error).toMatchObject({ code: 'refused' });
  expect(call?.child).toBeUndefined();
});

test('the same calls with the same results: the model reads it, then the turn ends', async () => {
  const same = Array<ScriptedReply>(9).fill(look('again'));
  const handle = await start('loops', book.add(...same));
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'loop', steps: 5 });
  const { calls } = await client.view(handle.workflowId);
  expect(calls.map(({ result: made }) => made?.error?.code ?? 'done')).toEqual([
    ...['done', 'done'],
    ...['refused', 'refused', 'refused'],
  ]);
  expect(await effects.lines('again')).toHaveLength(2);
});

test('a model that does something else in between does not loop', async () => {
  const steps = [look('a'), look('a'), look('a'), look('b'), look('a'), look('a')];
  const handle = await start('loops', book.add(...steps, { text: 'done' }));
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 6, failed: 1 } });
});

test.each([{ tokens: -1 }, { tokens: 'x' }, { speed: 1 }, { steps: NaN }])(
  '%j cannot be a budget',
  async (budget) => {
    const request = { agent: 'free', prompt: 'x', budget };
    await expect(client.start(request as never)).rejects.toMatchObject({ code: 'usage' });
  },
);
