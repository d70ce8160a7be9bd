import { connect, type Countersign } from '../../src/client';
import type { TranscriptEntry } from '../../src/contract/transcript';
import { anthropic, openai } from '../../src/models/providers';
import { waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import { type Answer, type FakeServer, json, startServer } from '../models/openai/server';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { decide, transcriptOf, waitFor } from '../support/turns';

const effects = useEffects();
const KEY = 'sk-very-secret-key-0123456789';

let claude: FakeServer;
let gpt: FakeServer;
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  [claude, gpt] = await Promise.all([startServer(), startServer()]);
  const first = anthropic({
    ...{ model: 'claude-sonnet-4-5', baseUrl: claude.baseUrl, apiKey: KEY, stream: false },
    settings: { thinking: { type: 'enabled', budgetTokens: 1024 } },
  });
  const other = openai({ model: 'gpt-5', baseUrl: gpt.baseUrl, apiKey: KEY, stream: false });
  const tools = [
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
    recordTool(effects, { name: 'look' }),
  ];
  const base = { instructions: 'do', model: first, models: { other }, tools };
  fixture = await startFixture({
    workers: 0,
    prices: { 'anthropic:*': { input: 3, output: 15 } },
    agents: [
      defineAgent({ name: 'thinker', ...base }),
      defineAgent({ name: 'safe', ...base, fallback: { models: [other], after: 0, on: ['server', 'auth'] } }),
      defineAgent({
        ...{ name: 'form', ...base },
        output: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] },
      }),
    ],
  });
  client = await connect({ client: fixture.client });
});
afterAll(async () => {
  await Promise.all([client.close(), claude.close(), gpt.close()]);
});
beforeEach(() => {
  claude.requests.length = 0;
  gpt.requests.length = 0;
});

const usage = { input_tokens: 1000, output_tokens: 200 };
const THOUGHT = { type: 'thinking', thinking: 'a thought nobody is shown', signature: 'SIG==' };

const claudeSays = (...content: object[]): Answer =>
  json({ type: 'message', id: 'm', model: 'c', role: 'assistant', content, stop_reason: 'end_turn', usage });

const use = (name: string, tag: string) => ({ type: 'tool_use', id: 'toolu_1', name, input: { tag } });

const gptSays = (text: string): Answer =>
  json({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', status: 'completed' },
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  });

/** One reply with a thought and a call, then the answer. */
const inTurn = (tool: string, tag: string): Answer => {
  return (...asked) => {
    const isFirst = claude.requests.length === 1;
    const say = isFirst ? claudeSays(THOUGHT, use(tool, tag)) : claudeSays({ type: 'text', text: 'done' });
    say(...asked);
  };
};

const cli = async (...args: string[]): Promise<string> => {
  const { out } = await runCli(args, { env: { TEMPORAL_ADDRESS: testAddress() } });
  return out;
};

test('a thought outlives its worker, goes back unchanged, and is shown nowhere', async () => {
  claude.answer = inTurn('pay', 'thought');
  const worker = await fixture.addWorker();
  const handle = await fixture.start('thinker', 'go');
  await waitFor(handle, '1.1');
  // Another worker has nothing in its memory: it reads the transcript from the turn.
  await worker.stop();
  const next = await fixture.addWorker();
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd1' });
  expect(await handle.result()).toMatchObject({
    answer: 'done',
    usage: { inputTokens: 2000, outputTokens: 400, cost: 0.012 },
  });
  const [, second] = claude.requests;
  expect(second?.body).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [THOUGHT, use('pay', 'thought')] },
      { role: 'user' },
    ],
  });
  const entries: TranscriptEntry[] = await transcriptOf(handle);
  expect(JSON.stringify(entries)).toContain('SIG==');
  const turn = handle.workflowId;
  for (const shown of [await cli('show', turn), await cli('show', turn, '--json')]) {
    expect(shown).not.toContain('a thought nobody is shown');
    expect(shown).not.toContain(KEY);
  }
  const shown = await cli('show', turn);
  expect(shown).toMatch(/^tokens +2,000 in, 400 out/m);
  expect(shown).toMatch(/^spent +2,400 tokens, .*, 0\.012 USD/m);
  expect(shown).toContain('anthropic:claude-sonnet-4-5, stop, 1,000 in, 200 out tokens, cost 0.006 USD');
  await next.stop();
});

test('a fork keeps the thoughts for the same model, and another model never sees them', async () => {
  claude.answer = inTurn('look', 'forked');
  const worker = await fixture.addWorker();
  const handle = await fixture.start('thinker', 'go');
  await handle.result();
  claude.requests.length = 0;
  claude.answer = claudeSays({ type: 'text', text: 'again' });
  gpt.answer = gptSays('other');
  const same = await client.fork({ turn: handle.workflowId, at: '2' });
  expect(await waitForEnd(client, same.turn)).toMatchObject({ answer: 'again' });
  expect(JSON.stringify(claude.requests[0]?.body)).toContain('SIG==');
  const another = await client.fork({ turn: handle.workflowId, at: '2', model: 'other' });
  expect(await waitForEnd(client, another.turn)).toMatchObject({ answer: 'other' });
  expect(JSON.stringify(gpt.requests[0]?.body)).not.toMatch(/SIG==|a thought nobody/);
  await worker.stop();
});

test.each([
  [
    'a server that is down',
    json({ type: 'error', error: { type: 'api_error', message: 'down' } }, { status: 500 }),
  ],
  [
    'a wrong key',
    json({ type: 'error', error: { type: 'authentication_error', message: KEY } }, { status: 401 }),
  ],
])('%s: the next model answers, and the timeline says which one and why', async (_, answer) => {
  claude.answer = answer;
  gpt.answer = gptSays('I can');
  const worker = await fixture.addWorker();
  const handle = await fixture.start('safe', 'go');
  expect(await handle.result()).toMatchObject({ answer: 'I can' });
  expect(claude.requests).toHaveLength(1);
  const shown = await cli('show', handle.workflowId);
  expect(shown).toContain('openai:gpt-5');
  expect(shown).toContain('(openai:gpt-5 is asked next)');
  expect(shown).not.toContain(KEY);
  await worker.stop();
});

test('an answer with a schema: the value is in the result, a wrong one ends the turn with words', async () => {
  const worker = await fixture.addWorker();
  claude.answer = (...asked) =>
    claudeSays({ type: 'text', text: claude.requests.length === 1 ? 'three' : '{"total": 3}' })(...asked);
  const handle = await fixture.start('form', 'go');
  expect(await handle.result()).toMatchObject({ value: { total: 3 }, steps: 1 });
  expect(await client.view(handle.workflowId)).toMatchObject({ value: { total: 3 } });
  claude.answer = claudeSays({ type: 'text', text: 'three' });
  const wrong = await fixture.start('form', 'go');
  await expect(wrong.result()).rejects.toThrow();
  expect((await client.view(wrong.workflowId)).error?.message).toContain('the answer is wrong a second time');
  await worker.stop();
});
