import { randomUUID } from 'node:crypto';
import { LIMITS } from '../../src/contract/limits';
import { SIGNALS, WORKFLOWS } from '../../src/contract/names';
import { ModelError, type ModelMessage } from '../../src/models/model';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { readBack, scriptBook, toolTexts } from '../support/script-book';
import { decide, scheduledInputs, transcriptOf, waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
const KIB = 1024;
let fixture: Fixture;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'flood' }, () => `start ${'é'.repeat(2.5 * KIB * KIB)} end`),
    recordTool(effects, { name: 'crash' }, () => {
      throw new Error('it broke');
    }),
    recordTool(effects, { name: 'slow', timeout: '1s' }, (_, { partial, signal }) => {
      partial('so far');
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    }),
    recordTool(effects, { name: 'small', safety: 'dangerous' }),
    recordTool(effects, { name: 'huge', safety: 'dangerous', preview: () => 'p'.repeat(300 * KIB) }),
    recordTool(effects, { name: 'wide', safety: 'dangerous', preview: () => 'p'.repeat(200 * KIB) }),
    recordTool(effects, {
      name: 'blind',
      safety: 'dangerous',
      preview: () => {
        throw new Error('no such file');
      },
    }),
    defineTool({
      name: 'free',
      description: 'Takes anything.',
      parameters: { type: 'object' },
      handler: () => 'ok',
    }),
  ];
  const common = { instructions: 'do', model: book.model, tools };
  fixture = await startFixture({
    agents: [
      defineAgent({ name: 'agent', ...common }),
      defineAgent({ name: 'short', ...common, limits: { steps: 3 } }),
    ],
    agentWait: '1s',
  });
});

const run = async (...steps: ScriptedStep[]) => {
  const handle = await fixture.start('agent', book.add(...steps));
  return { handle, result: await handle.result() };
};

const tag = (name: string) => ({ name, arguments: { tag: name } });

const nested = `{"n":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;

const texts: [string, ScriptedStep, string[]][] = [
  [
    'arguments that are no JSON',
    { toolCalls: [{ name: 'look', arguments: '{"tag": ' }] },
    ['Error [validation]'],
  ],
  [
    'arguments with trailing text',
    { toolCalls: [{ name: 'look', arguments: '{"tag":"a"} ok' }] },
    ['Error [validation]'],
  ],
  [
    'arguments that are a list',
    { toolCalls: [{ name: 'look', arguments: '["a"]' }] },
    ['Error [validation]'],
  ],
  [
    'a key twice',
    { toolCalls: [{ name: 'look', arguments: '{"tag":"a","tag":"b"}' }] },
    ['Error [validation]'],
  ],
  [
    'a number that no JSON can write',
    { toolCalls: [{ name: 'free', arguments: '{"n":1e999}' }] },
    ['Error [validation]'],
  ],
  [
    'arguments nested without end',
    { toolCalls: [{ name: 'free', arguments: nested }] },
    ['Error [validation]'],
  ],
  ['arguments that do not fit', { toolCalls: [{ name: 'look', arguments: { tag: 5 } }] }, ['/tag']],
  ['an unknown tool', { toolCalls: [tag('launch')] }, ['Error [tool_not_found]', 'There are: look, flood']],
  ['a name that is no name', { toolCalls: [{ name: '', arguments: {} }] }, ['Error [tool_not_found]']],
  ['a handler that throws', { toolCalls: [tag('crash')] }, ['Error [tool]: it broke']],
  ['a handler that takes too long', { toolCalls: [tag('slow')] }, ['Error [timeout]', 'so far']],
  [
    'a preview over its limit',
    { toolCalls: [tag('huge')] },
    ['Error [validation]', 'too large to review; split it'],
  ],
  ['a preview that throws', { toolCalls: [tag('blind')] }, ['no such file']],
  [
    'arguments of 200 KB',
    { toolCalls: [{ name: 'look', arguments: { tag: 'x'.repeat(200 * KIB) } }] },
    ['Error [validation]', `at most ${LIMITS.argumentsBytes} are allowed`],
  ],
  [
    'good and bad calls together',
    { toolCalls: [tag('launch'), tag('look'), { name: 'look', arguments: 'no' }] },
    ['Error [tool_not_found]', 'look did look', 'Error [validation]'],
  ],
];

test.each(texts)('%s: an error result that the model reads, and the turn goes on', async (_, step, told) => {
  const { result } = await run(step, readBack);
  expect(result).toMatchObject({ status: 'answered', steps: 2 });
  for (const text of told) expect(result.answer).toContain(text);
});

test('70 calls in a step: 64 run, the rest have to come in the next step', async () => {
  const calls = Array.from({ length: 70 }, (_, n) => ({ name: 'look', arguments: { tag: `seventy ${n}.` } }));
  const { result } = await run({ toolCalls: calls }, readBack);
  expect(result.counts).toMatchObject({ calls: 70, failed: 6 });
  expect(result.answer.match(/at most 64 calls/g)).toHaveLength(6);
  expect(await effects.lines('seventy')).toHaveLength(64);
});

test('1,000 calls of 200 KB: each is answered with what is wrong, and the turn goes on', async () => {
  const call = { name: 'look', arguments: JSON.stringify({ tag: 'x'.repeat(200_000) }) };
  const { handle, result } = await run(
    { toolCalls: Array.from({ length: 1000 }, () => call) },
    { text: 'done' },
  );
  expect(result).toMatchObject({ status: 'answered', answer: 'done', counts: { calls: 1000, failed: 1000 } });
  const told = (await transcriptOf(handle)).flatMap((entry) =>
    entry.kind === 'result' ? entry.content : [],
  );
  expect(told.filter((text) => text.includes(`at most ${LIMITS.argumentsBytes}`))).toHaveLength(64);
  expect(told.filter((text) => text.includes('at most 64 calls'))).toHaveLength(936);
});

test('64 edits of 120 KB that wait for a worker all run, although they come at once', async () => {
  const queue = { taskQueue: `${fixture.taskQueue}-bulky` };
  const tools = [recordTool(effects, { name: 'bulky', safety: 'dangerous', effect: 'pure' }, () => 'ok')];
  const agents = [
    defineAgent({ name: 'bulky', instructions: 'do', model: book.model, tools, order: 'parallel' }),
  ];
  const first = await fixture.addWorker({}, { agents, ...queue });
  const calls = Array.from({ length: 64 }, (_, n) => ({ name: 'bulky', arguments: { tag: `bulky ${n}.` } }));
  const prompt = book.add({ toolCalls: calls }, { text: 'done' });
  const handle = await fixture.client.workflow.start(WORKFLOWS.turn, {
    ...{ workflowId: `bulky-${randomUUID()}`, ...queue, args: [{ agent: 'bulky', prompt }] },
  });
  await waitFor(handle, '1.1');
  await first.stop();
  const edit = { decision: 'modified', arguments: { tag: 'x'.repeat(120 * KIB) }, approver: 'ann' };
  for (let n = 1; n <= 64; n++) await handle.signal(SIGNALS.approval, { ...edit, callId: `1.${n}` });
  await fixture.addWorker({}, { agents, ...queue });
  expect(await handle.result()).toMatchObject({
    status: 'answered',
    counts: { calls: 64, failed: 0, modified: 64 },
  });
});

test('arguments and previews that are too large together: those beyond the limit are not offered', async () => {
  const args = { big: 'x'.repeat(100 * KIB) };
  const calls = Array.from({ length: 9 }, () => ({ name: 'free', arguments: args }));
  const { result } = await run({ toolCalls: calls }, readBack);
  expect(result.counts).toMatchObject({ calls: 9, failed: 2 });
  const handle = await fixture.start(
    'agent',
    book.add({ toolCalls: Array.from({ length: 3 }, () => tag('wide')) }, readBack),
  );
  await waitFor(handle, '1.2');
  for (const callId of ['1.1', '1.2']) await decide(handle, { callId, decision: 'denied' });
  expect((await handle.result()).answer).toContain('this step is too large to review; split it');
});

test('arguments just below the limit can be listed, approved and run', async () => {
  const call = { name: 'small', arguments: { tag: 'large '.padEnd(120 * KIB, 'x') } };
  const handle = await fixture.start('agent', book.add({ toolCalls: [call] }, readBack));
  expect((await waitFor(handle, '1.1')).summary.length).toBeLessThanOrEqual(80);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).counts).toMatchObject({ failed: 0 });
  expect(await effects.lines('small large')).toHaveLength(1);
});

test('5 MB of output: head and tail are kept, the cut is marked', async () => {
  const { handle, result } = await run({ toolCalls: [tag('flood')] }, (request) => ({
    text: String(Buffer.byteLength(toolTexts(request).join())),
  }));
  expect(Number(result.answer)).toBeLessThanOrEqual(LIMITS.outputBytes);
  const [, , output] = await transcriptOf(handle);
  const content = output?.kind === 'result' ? output.content : '';
  expect(content.startsWith('start é')).toBe(true);
  expect(content.endsWith('é end')).toBe(true);
  expect(content).toMatch(/cut|left out|omitted/);
});

test('ids that a model gives twice or not at all are made unique, and results answer them', async () => {
  let seen: ModelMessage[] = [];
  const calls = ['same', 'same', null, 'call_1_3'].map((id) => ({ id, ...tag('look') }));
  await run({ toolCalls: calls }, ({ messages }) => {
    seen = messages;
    return { text: 'done' };
  });
  const asked = seen.flatMap((message) =>
    message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
  );
  const answered = seen.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
  expect(new Set(asked).size).toBe(4);
  expect(answered).toEqual(asked);
  expect(asked[0]).toBe('same');
});

test('a model that answers nothing, or fails in passing, is asked again', async () => {
  let attempts = 0;
  const { result, handle } = await run(() => {
    attempts += 1;
    if (attempts === 1) return { text: '' };
    if (attempts === 2)
      throw new ModelError('rate_limit', 'slow down', { retryable: true, retryAfterMs: 50 });
    return { text: 'third time' };
  });
  expect(result.answer).toBe('third time');
  expect(attempts).toBe(3);
  expect(await scheduledInputs(handle, 'countersign.think')).toHaveLength(1);
});

test.each([
  ['auth', 'the key is not valid'],
  ['refused', 'the model refused'],
  ['request', 'the request was too long'],
] as const)('a model that fails for good (%s) fails the turn, with its message', async (kind, message) => {
  const handle = await fixture.start('agent', book.add(new ModelError(kind, message, { retryable: false })));
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: `book: ${message}`, type: 'countersign.model' },
  });
  const description = await handle.describe();
  expect(description.status.name).toBe('FAILED');
  expect(description.searchAttributes['CountersignState']).toEqual(['failed']);
});

test('a turn ends at its step limit', async () => {
  const step = { text: 'going on', toolCalls: [tag('look')] };
  const handle = await fixture.start('short', book.add(step, step, step, step));
  expect(await handle.result()).toMatchObject({ status: 'step_limit', steps: 3, answer: 'going on' });
});

test('an unknown agent fails the turn by name', async () => {
  const handle = await fixture.start('nobody', 'hello');
  await expect(handle.result()).rejects.toMatchObject({
    cause: {
      message:
        'no worker with agent "nobody" here: the one that took this has agent, short; nobody came for 1 s',
    },
  });
});
