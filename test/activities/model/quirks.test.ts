import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { createMemory } from '../../../src/activities/conversation';
import { think } from '../../../src/activities/think';
import type { ThinkOutput } from '../../../src/contract/think';
import { openaiCompatible } from '../../../src/models/openai-compatible';
import type { AgentOptions } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import {
  completion,
  delta,
  json,
  pieces,
  recorded,
  useServer,
  wireCall,
  type Answer,
} from '../../models/openai/server';
import { workerWith } from '../fake-worker';

const server = useServer();

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  safety: 'safe',
  handler: () => 'seen',
});

/** A turn of two steps: the call of a tool, and the answer. The server gives the answers in their order. */
async function turn(
  answers: readonly Answer[],
  more: Partial<AgentOptions> = {},
  words = 'go',
): Promise<ThinkOutput[]> {
  const rest = [...answers];
  server.answer = (response, request) => (rest.shift() ?? json({ choices: [] }))(response, request);
  const model = openaiCompatible({ baseUrl: server.baseUrl, model: 'm' });
  const memory = createMemory();
  const texts = { open: () => ({ add: () => undefined, finish: () => undefined, end: () => undefined }) };
  const deps = workerWith({ model, tools: [look], ...more }, { memory, texts });
  const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 600_000 }, { logger: deps.log });
  const outputs: ThinkOutput[] = [];
  const ask = (input: Parameters<typeof think>[1]): Promise<ThinkOutput> =>
    environment.run(() => think(deps, input));
  let input: Parameters<typeof think>[1] = {
    agent: 'a',
    step: 1,
    words: [words],
    results: [],
    droppedBefore: 0,
  };
  for (;;) {
    const output = await ask(input);
    outputs.push(output);
    if (output.calls.length === 0) return outputs;
    const results = output.calls.map(({ callId }) => ({ callId, digest: 'd', success: true, text: 'seen' }));
    const after = { replyId: output.replyId, count: 2 * outputs.length };
    const droppedBefore = output.droppedBefore ?? input.droppedBefore;
    input = { ...input, step: input.step + 1, words: [], results, after, droppedBefore };
  }
}

const ARGS = '{"at":"x"}';
const CALL = wireCall('c1', 'look', ARGS);
const called = (message: object, finish = 'tool_calls'): Answer =>
  json(completion({ content: null, ...message }, finish));
const said = (content: unknown): Answer => json(completion({ content }));
const streamed = (...events: unknown[]): Answer => pieces([recorded(events)]);
const CLEAN = called({ tool_calls: [CALL] });
const DONE = said('done');

it.each<[string, Answer[], number]>([
  ['nothing odd', [CLEAN, DONE], 2],
  ['a stop beside a call', [called({ tool_calls: [CALL] }, 'stop'), DONE], 2],
  ['an odd role', [called({ role: 'model', tool_calls: [CALL] }), DONE], 2],
  [
    'arguments as an object',
    [called({ tool_calls: [{ id: 'c1', function: { name: 'look', arguments: { at: 'x' } } }] }), DONE],
    2,
  ],
  ['a name in a space', [called({ tool_calls: [wireCall('c1', 'functions.look', ARGS)] }), DONE], 2],
  ['blanks around a name', [called({ tool_calls: [wireCall('c1', ' look\n', ARGS)] }), DONE], 2],
  ['no id', [called({ tool_calls: [wireCall(null, 'look', ARGS)] }), DONE], 2],
  ['an id that is a number', [called({ tool_calls: [{ ...CALL, id: 1 }] }), DONE], 2],
  ['no place in a stream', [streamed(delta({ tool_calls: [CALL] }), delta({}, 'stop')), DONE], 2],
  [
    'signs of life',
    [
      pieces([
        ': ping\n\nevent: ping\ndata: {}\n\n',
        recorded([delta({ tool_calls: [CALL] }), delta({}, 'tool_calls')]),
      ]),
      DONE,
    ],
    2,
  ],
  [
    'thoughts in the text',
    [called({ content: '<think>hm</think>', tool_calls: [CALL] }), said('<think>hm</think>\ndone')],
    2,
  ],
  ['thoughts that only close', [CLEAN, said('hm\n</think>\ndone')], 2],
  ['an answer in parts', [CLEAN, said([{ type: 'text', text: 'done' }])], 2],
  [
    'a call as text, once',
    [said(`<tool_call>{"name":"look","arguments":${ARGS}}</tool_call>`), CLEAN, DONE],
    3,
  ],
  [
    'a call as JSON after thoughts, once',
    [said(`<think>hm</think>\n{"name":"look","arguments":${ARGS}}`), CLEAN, DONE],
    3,
  ],
  [
    'a call in its thoughts, once',
    [
      json(
        completion({
          content: '',
          reasoning_content: `hm\n<tool_call>{"name":"look","arguments":${ARGS}}</tool_call>`,
        }),
      ),
      CLEAN,
      DONE,
    ],
    3,
  ],
  ['a call as text after a call, once', [CLEAN, said('[TOOL_CALLS]look[ARGS]{}'), DONE], 3],
])('a turn with %s asks as often as it must', async (_, answers, asked) => {
  const [first, last] = await turn(answers);
  expect(first?.calls).toMatchObject([{ tool: 'look', arguments: { at: 'x' } }]);
  expect(last).toMatchObject({ text: 'done', calls: [] });
  expect(server.requests).toHaveLength(asked);
});

it('a model that writes a call once more fails, and nothing ran', async () => {
  const written = said(`<function=look>${ARGS}</function>`);
  await expect(turn([written, written])).rejects.toMatchObject({
    nonRetryable: true,
    message: expect.stringContaining('look did not run: its server has no tool parser'),
  });
  expect(server.requests).toHaveLength(2);
  expect(JSON.stringify(server.requests[1]?.body)).toContain('Nothing ran.');
});

it.each<[string, string]>([
  ['thoughts before it', '<think>{"total":2}</think>{"total":1}'],
  ['words before a fence', 'Here it is:\n```json\n{"total":1}\n```\nBye.'],
  ['words around it', 'It is {"total":1}.'],
  ['another object in a fence', '```json\n{"sum":1}\n```\n```json\n{"total":1}\n```'],
])('a value is read with %s', async (_, content) => {
  const output = z.strictObject({ total: z.number() });
  const [, last] = await turn([CLEAN, said(content)], { output });
  expect(last?.value).toEqual({ total: 1 });
  expect(server.requests).toHaveLength(2);
});

it('two values that fit have no one meaning', async () => {
  const output = z.strictObject({ total: z.number() });
  const two = said('```\n{"total":1}\n```\n```\n{"total":2}\n```');
  const [, last] = await turn([CLEAN, two, said('{"total":2}')], { output });
  expect(last?.value).toEqual({ total: 2 });
  expect(server.requests).toHaveLength(3);
});

describe('a conversation that is too long', () => {
  const LONG = 'maximum context length is 8192 tokens. However, you requested 9000 tokens';
  const tooLong = json({ error: { message: LONG, code: 'context_length_exceeded' } }, { status: 400 });

  it('that has no old outputs ends the turn', async () => {
    await expect(turn([CLEAN, tooLong])).rejects.toMatchObject({ nonRetryable: true });
    expect(server.requests).toHaveLength(2);
  });

  it('is asked once more without its old outputs', async () => {
    const outputs = await turn([CLEAN, CLEAN, tooLong, DONE]);
    expect(outputs.map(({ notes }) => notes)).toEqual([undefined, undefined, ['shortened']]);
    expect(JSON.stringify(server.requests[2]?.body).match(/seen/g)).toHaveLength(2);
    expect(JSON.stringify(server.requests[3]?.body).match(/seen/g)).toHaveLength(1);
    expect(JSON.stringify(server.requests[3]?.body)).toContain('older output dropped');
  });

  it('stays without them in later steps, which say so', async () => {
    const outputs = await turn([CLEAN, CLEAN, tooLong, CLEAN, DONE]);
    const found = outputs.map(({ notes, droppedBefore }) => [notes, droppedBefore]);
    const nothing = [undefined, undefined];
    expect(found).toEqual([nothing, nothing, [['shortened'], 3], [['shortened'], undefined]]);
    expect(server.requests).toHaveLength(5);
    expect(JSON.stringify(server.requests[4]?.body).match(/seen/g)).toHaveLength(2);
  });

  it.each<[string, object | undefined, string[] | undefined]>([
    ['far fewer tokens than were sent', { prompt_tokens: 2051, completion_tokens: 1 }, ['cut']],
    [
      'cached tokens among them',
      { prompt_tokens: 8000, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 7000 } },
      undefined,
    ],
    ['no tokens', undefined, undefined],
  ])('and silently cut is known by %s', async (_, usage, notes) => {
    const answer = json(completion({ tool_calls: [CALL] }, 'tool_calls', { usage }));
    const [first] = await turn([answer, DONE], {}, 'word '.repeat(8000));
    expect(first?.notes).toEqual(notes);
  });

  it('and short is never called cut', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const [first] = await turn([json(completion({ tool_calls: [CALL] }, 'tool_calls', { usage })), DONE]);
    expect(first?.notes).toBeUndefined();
  });
});
