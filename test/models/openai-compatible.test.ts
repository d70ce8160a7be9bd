import { inspect } from 'node:util';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { generate, KEY } from './openai/attempt';
import {
  type Answer,
  completion,
  delta,
  json,
  pieces,
  recorded,
  requestOf,
  useServer,
  wireCall,
} from './openai/server';

const server = useServer();

const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
const twice = [
  wireCall('same', 'read_file', '{"path": "a"}'),
  wireCall('same', 'read_file', '{"path":"b" }'),
];

describe('a JSON reply', () => {
  it('is sent and read in full', async () => {
    const reply = await generate({ server, answer: json(completion({ content: 'hi' }, 'stop', { usage })) });
    expect(reply).toEqual({
      text: 'hi',
      toolCalls: [],
      finishReason: 'stop',
      usage: { inputTokens: 7, outputTokens: 5, totalTokens: 12 },
    });
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.headers['authorization']).toBe(`Bearer ${KEY}`);
    expect(request?.body).toMatchObject({
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hello' },
      ],
      tools: [{ type: 'function', function: { name: 'read_file', parameters: { required: ['path'] } } }],
    });
  });

  it('keeps two calls with one id, and the raw text of their arguments', async () => {
    const reply = await generate({
      server,
      answer: json(completion({ content: null, tool_calls: twice }, 'tool_calls')),
    });
    expect(reply).toEqual({
      text: '',
      toolCalls: [
        { id: 'same', name: 'read_file', arguments: '{"path": "a"}' },
        { id: 'same', name: 'read_file', arguments: '{"path":"b" }' },
      ],
      finishReason: 'tool-calls',
    });
  });

  it.each([
    ['arguments that are no JSON', wireCall('x', 'read_file', '{"path": '), '{"path": '],
    ['arguments with one key twice', wireCall('x', 'read_file', '{"a":1,"a":2}'), '{"a":1,"a":2}'],
    [
      'arguments with a big number',
      wireCall('x', 'read_file', '{"n":12345678901234567890}'),
      '{"n":12345678901234567890}',
    ],
    ['arguments with __proto__', wireCall('x', 'read_file', '{"__proto__":{}}'), '{"__proto__":{}}'],
    ['no arguments', wireCall('x', 'read_file', ''), ''],
  ])('leaves %s as they are', async (_, call, raw) => {
    const reply = await generate({ server, answer: json(completion({ tool_calls: [call] }, 'tool_calls')) });
    expect(reply.toolCalls).toEqual([{ id: 'x', name: 'read_file', arguments: raw }]);
  });

  it('gives no id where the server gave an empty one', async () => {
    const reply = await generate({
      server,
      answer: json(completion({ tool_calls: [wireCall('', 'read_file', '{}')] }, 'tool_calls')),
    });
    expect(reply.toolCalls).toEqual([{ name: 'read_file', arguments: '{}' }]);
  });

  it('that was cut at the token limit never yields a call without its arguments', async () => {
    const calls = [wireCall('a', 'read_file', ''), wireCall('b', 'read_file', '')];
    const reply = await generate({ server, answer: json(completion({ tool_calls: calls }, 'length')) });
    expect(reply.finishReason).toBe('length');
    expect(reply.toolCalls.map((call) => call.arguments)).toEqual(['', '{']);
  });

  it.each([
    ['none', undefined, undefined],
    ['null', null, undefined],
    ['a part', { prompt_tokens: 3 }, { inputTokens: 3 }],
    [
      'no total',
      { prompt_tokens: 3, completion_tokens: 4 },
      { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    ],
    ['nonsense', { prompt_tokens: -3, completion_tokens: 0.5 }, undefined],
  ])('with usage: %s', async (_, counted, expected) => {
    const reply = await generate({
      server,
      answer: json(completion({ content: 'x' }, 'stop', { usage: counted })),
    });
    expect(reply.usage).toEqual(expected);
  });

  it('may be large', async () => {
    const text = 'x'.repeat(3_000_000);
    const reply = await generate({ server, answer: json(completion({ content: text })) });
    expect(reply.text.length).toBe(text.length);
  });
});

describe('messages', () => {
  it('go as the protocol wants them, without empty ones', async () => {
    await generate({
      server,
      answer: json(completion({ content: 'ok' })),
      request: {
        instructions: '',
        messages: [
          { role: 'user', content: 'go' },
          {
            role: 'assistant',
            content: '',
            toolCalls: [
              { id: 'a', name: 'read_file', arguments: '{"path":"x"}' },
              { id: 'b', name: 'read_file', arguments: '{"path":' },
              { id: 'c', name: 'read_file', arguments: '[1]' },
              { name: 'read_file', arguments: '' },
            ],
          },
          { role: 'tool', toolCallId: 'a', toolName: 'read_file', content: 'text of x' },
          { role: 'assistant', content: '', toolCalls: [] },
        ],
      },
    });
    const body = server.requests[0]?.body as { messages: Record<string, unknown>[] };
    expect(body.messages).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          wireCall('a', 'read_file', '{"path":"x"}'),
          wireCall('b', 'read_file', '{"unreadable_arguments":"{\\"path\\":"}'),
          wireCall('c', 'read_file', '{"unreadable_arguments":"[1]"}'),
          wireCall('call_1_4', 'read_file', '{}'),
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'text of x' },
    ]);
  });

  it('sends no tools where there are none', async () => {
    await generate({ server, answer: json(completion({ content: 'ok' })), request: { tools: [] } });
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
  });
});

describe('the key', () => {
  it('is nowhere on the model', () => {
    const model = openaiCompatible({
      baseUrl: server.baseUrl,
      model: 'm',
      apiKey: KEY,
      headers: { 'x-api-key': KEY },
    });
    const shown = inspect(model, { depth: null, showHidden: true }) + JSON.stringify(model) + String(model);
    expect(shown).not.toContain(KEY);
    expect(model.id).toBe(`${new URL(server.baseUrl).host}/m`);
  });

  it('is not sent where none is given', async () => {
    const model = openaiCompatible({ baseUrl: server.baseUrl, model: 'm', headers: { 'x-own': 'yes' } });
    server.answer = json(completion({ content: 'ok' }));
    await model.generate(requestOf());
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(server.requests[0]?.headers['x-own']).toBe('yes');
  });
});

describe('the words of a reply', () => {
  const words = recorded([delta({ content: 'one ' }), delta({ content: 'two' }), delta({}, 'stop')]);
  const ask = async (stream: boolean | undefined, answer: Answer, isWatched = true) => {
    server.answer = answer;
    const taken: string[] = [];
    const options = { baseUrl: server.baseUrl, model: 'm', ...(stream === undefined ? {} : { stream }) };
    const onText = (text: string): void => void taken.push(text);
    const request = requestOf(isWatched ? { onText } : {});
    const { text } = await openaiCompatible(options).generate(request);
    return { taken, text };
  };

  test.each<[string, boolean | undefined, Answer, boolean, string[]]>([
    ['are given where somebody takes them', undefined, pieces([words]), true, ['one ', 'two']],
    [
      'are asked for at once where nobody does',
      undefined,
      json(completion({ content: 'one two' })),
      false,
      [],
    ],
    [
      'are asked for at once where the options say so',
      false,
      json(completion({ content: 'one two' })),
      true,
      [],
    ],
  ])('%s', async (_case, stream, answer, isWatched, taken) => {
    expect(await ask(stream, answer, isWatched)).toEqual({ taken, text: 'one two' });
  });

  it('are given at once by a server that does not stream', async () => {
    expect(await ask(undefined, json(completion({ content: 'one' })))).toEqual({
      taken: ['one'],
      text: 'one',
    });
  });
});
