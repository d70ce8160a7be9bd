import { failure, generate } from '../openai/attempt';
import {
  type Answer,
  completion,
  delta,
  json,
  pieces,
  recorded,
  useServer,
  wireCall,
} from '../openai/server';
import type { ModelMessage, ModelReply } from '../../../src/models/model';

const server = useServer();

const ARGUMENTS = '{"path":"a"}';
const CALL = wireCall('c1', 'read_file', ARGUMENTS);
const READ = { id: 'c1', name: 'read_file', arguments: ARGUMENTS };
const streamOf = (...events: unknown[]): Answer => pieces([recorded(events)]);
const text = (...parts: string[]): Answer => pieces(parts);
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const FINISH = event(delta({}, 'stop'));
const HI = event(delta({ content: 'hi' }));

const ask = (answer: Answer, stream: boolean): Promise<ModelReply> =>
  generate({ server, answer, options: { stream } });

const SAID: Partial<ModelReply> = { text: 'hi', toolCalls: [], finishReason: 'stop' };
const CALLED: Partial<ModelReply> = { toolCalls: [READ], finishReason: 'tool-calls' };

describe('a whole reply', () => {
  it.each<[string, unknown, Partial<ModelReply>]>([
    ['an odd role', completion({ role: 'model', content: 'hi' }), SAID],
    ['no role', { choices: [{ message: { content: 'hi' } }] }, SAID],
    ['a null role', completion({ role: null, content: 'hi' }), SAID],
    ['content in parts', completion({ content: [{ type: 'text', text: 'h' }, 'i'] }), SAID],
    [
      'content in output parts',
      completion({ content: [{ type: 'output_text', text: { value: 'hi' } }] }),
      SAID,
    ],
    ['a number as content', completion({ content: 42 }), { text: '42' }],
    ['null content beside a call', completion({ content: null, tool_calls: [CALL] }, 'tool_calls'), CALLED],
    ['a call that ends with stop', completion({ tool_calls: [CALL] }, 'stop'), CALLED],
    ['no finish reason', completion({ content: 'hi' }, undefined, {}), SAID],
    ['a finish reason of another server', completion({ content: 'hi' }, 'EOS'), SAID],
    [
      'a finish reason that is a number',
      { choices: [{ message: { content: 'hi' }, finish_reason: 7 }] },
      { text: 'hi' },
    ],
    ['a null error beside it', completion({ content: 'hi' }, 'stop', { error: null }), SAID],
    ['only the text of a completion', { choices: [{ text: 'hi', finish_reason: 'stop' }] }, SAID],
    ['no calls as null', completion({ content: 'hi', tool_calls: null }), SAID],
    [
      'an empty list of calls',
      completion({ content: 'hi', tool_calls: [] }, 'tool_calls'),
      { text: 'hi', toolCalls: [] },
    ],
    ['a call of nothing beside a call', completion({ tool_calls: [null, {}, CALL] }), CALLED],
    [
      'arguments as an object',
      completion({ tool_calls: [{ id: 'c1', function: { name: 'read_file', arguments: { path: 'a' } } }] }),
      CALLED,
    ],
    [
      'arguments in a text in a text',
      completion({ tool_calls: [wireCall('c1', 'read_file', JSON.stringify(ARGUMENTS))] }),
      CALLED,
    ],
    ['one call that is no list', completion({ tool_calls: CALL }), CALLED],
    [
      'a call without function',
      completion({ tool_calls: [{ id: 'c1', name: 'read_file', arguments: ARGUMENTS }] }),
      CALLED,
    ],
    [
      'a call of the old form',
      completion({ function_call: { name: 'read_file', arguments: ARGUMENTS } }),
      { toolCalls: [{ name: 'read_file', arguments: ARGUMENTS }] },
    ],
    [
      'a number as id',
      completion({ tool_calls: [{ ...CALL, id: 7 }] }),
      { toolCalls: [{ ...READ, id: '7' }] },
    ],
    [
      'a null id',
      completion({ tool_calls: [{ ...CALL, id: null }] }),
      { toolCalls: [{ name: 'read_file', arguments: ARGUMENTS }] },
    ],
    [
      'two whole calls at one place',
      completion({
        tool_calls: [
          { index: 0, ...CALL },
          { index: 0, ...CALL, id: 'c2' },
        ],
      }),
      { toolCalls: [READ, { ...READ, id: 'c2' }] },
    ],
  ])('with %s', async (_, body, expected) => {
    const { text: said, toolCalls, finishReason } = await ask(json(body), false);
    expect({ text: said, toolCalls, finishReason }).toMatchObject(expected);
  });

  it.each([
    ['null', null],
    ['an empty list', []],
    ['nothing', undefined],
    ['blanks', ' \n'],
  ])('takes %s for no arguments', async (_, args) => {
    const call = { id: 'c1', function: { name: 'read_file', arguments: args } };
    const { toolCalls } = await ask(json(completion({ tool_calls: [call] })), false);
    expect(toolCalls).toEqual([{ id: 'c1', name: 'read_file', arguments: '' }]);
  });

  it('is taken as events where one body was asked for', async () => {
    expect(await ask(text(HI, FINISH), false)).toMatchObject(SAID);
  });
});

const piece = (fields: Record<string, unknown>, inner: Record<string, unknown>): unknown =>
  delta({ tool_calls: [{ ...fields, function: inner }] });

describe('a streamed reply', () => {
  it.each<[string, Answer, Partial<ModelReply>]>([
    [
      'signs of life',
      text(': ping\n\n', 'event: ping\ndata: {}\n\n', 'data: keep-alive\n\n', HI, 'data:\n\n', FINISH),
      SAID,
    ],
    [
      'events of another kind',
      text(event({ type: 'ping' }), HI, event({ object: 'x.usage' }), event(null), event([1]), FINISH),
      SAID,
    ],
    ['choices that are null', text(event({ choices: null }), HI, FINISH), SAID],
    ['an odd role', streamOf(delta({ role: 'model', content: 'hi' }), delta({}, 'stop')), SAID],
    [
      'a message in place of a delta',
      streamOf({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }),
      SAID,
    ],
    [
      'an empty reason on each event',
      streamOf({ choices: [{ delta: { content: 'hi' }, finish_reason: '' }] }, delta({}, 'stop')),
      SAID,
    ],
    ['no reason, but the mark of the end', streamOf(delta({ content: 'hi' })), SAID],
    ['the mark of the end in quotes', text(HI, 'data: "[DONE]"\n\n'), SAID],
    [
      'content in parts',
      streamOf(delta({ content: [{ type: 'text', text: 'hi' }] }), delta({}, 'stop')),
      SAID,
    ],
    ['one body where events were asked for', json(completion({ content: 'hi' })), SAID],
    [
      'a body of JSON lines',
      text(
        `${JSON.stringify(delta({ content: 'h' }))}\n${JSON.stringify(delta({ content: 'i' }, 'stop'))}\n`,
      ),
      SAID,
    ],
    [
      'a whole call that ends with stop',
      streamOf(delta({ tool_calls: [{ index: 0, ...CALL }] }), delta({}, 'stop')),
      CALLED,
    ],
    [
      'no place',
      streamOf(
        piece({ id: 'c1' }, { name: 'read_file', arguments: '' }),
        piece({}, { arguments: '{"path":' }),
        piece({}, { arguments: '"a"}' }),
        delta({}, 'tool_calls'),
      ),
      CALLED,
    ],
    [
      'a place in text',
      streamOf(
        piece({ index: '0', id: 'c1' }, { name: 'read_file' }),
        piece({ index: '0' }, { arguments: ARGUMENTS }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'id and name on each piece',
      streamOf(
        piece({ index: 0, id: 'c1' }, { name: 'read_file', arguments: '{"path":' }),
        piece({ index: 0, id: 'c1' }, { name: 'read_file', arguments: '"a"}' }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'another id on each piece',
      streamOf(
        piece({ index: 0, id: 'c1' }, { name: 'read_file', arguments: '{"path":' }),
        piece({ index: 0, id: 'c9' }, { arguments: '"a"}' }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'arguments as an object',
      streamOf(
        piece({ index: 0, id: 'c1' }, { name: 'read_file', arguments: { path: 'a' } }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'the whole arguments once more',
      streamOf(
        piece({ index: 0, id: 'c1' }, { name: 'read_file', arguments: ARGUMENTS }),
        piece({ index: 0 }, { arguments: ARGUMENTS }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'a name that comes late',
      streamOf(
        piece({ index: 0, id: 'c1' }, { arguments: '{"path":' }),
        piece({ index: 0 }, { name: 'read_file', arguments: '"a"}' }),
        delta({}, 'stop'),
      ),
      CALLED,
    ],
    [
      'an empty id',
      streamOf(piece({ index: 0, id: '' }, { name: 'read_file', arguments: ARGUMENTS }), delta({}, 'stop')),
      { toolCalls: [{ name: 'read_file', arguments: ARGUMENTS }] },
    ],
    [
      'two whole calls at one place',
      streamOf(
        delta({ tool_calls: [{ index: 0, ...CALL }] }),
        delta({ tool_calls: [{ index: 0, ...CALL, id: 'c2' }] }),
        delta({}, 'stop'),
      ),
      { toolCalls: [READ, { ...READ, id: 'c2' }] },
    ],
    [
      'two whole calls without places',
      streamOf(delta({ tool_calls: [CALL, { ...CALL, id: 'c2' }] }), delta({}, 'stop')),
      { toolCalls: [READ, { ...READ, id: 'c2' }] },
    ],
    [
      'two whole calls without places and ids',
      streamOf(
        piece({}, { name: 'read_file', arguments: ARGUMENTS }),
        piece({}, { name: 'read_file', arguments: '{"path":"b"}' }),
        delta({}, 'stop'),
      ),
      {
        toolCalls: [
          { name: 'read_file', arguments: ARGUMENTS },
          { name: 'read_file', arguments: '{"path":"b"}' },
        ],
      },
    ],
  ])('with %s', async (_, answer, expected) => {
    const { text: said, toolCalls, finishReason } = await ask(answer, true);
    expect({ text: said, toolCalls, finishReason }).toMatchObject(expected);
  });
});

it.each<[string, Answer, boolean, string, RegExp]>([
  [
    'choices that are no list',
    json({ choices: 'none' }),
    false,
    'server',
    /not a reply: its choices are not a list/,
  ],
  [
    'a call without a name',
    json(completion({ tool_calls: [wireCall('a', '', ARGUMENTS)] })),
    false,
    'server',
    /a call has no name/,
  ],
  [
    'a reply that the server broke off',
    streamOf(delta({ content: 'hi' }), delta({}, 'malformed_function_call')),
    true,
    'server',
    /broke the reply off: malformed_function_call/,
  ],
  ['an error in words', json({ error: 'no room' }), false, 'server', /no room/],
  [
    'an error that has its own event',
    text('event: error\ndata: {"message":"no room"}\n\n'),
    true,
    'server',
    /no room/,
  ],
  [
    'an error as an object',
    json({ object: 'error', message: 'no room', code: 400 }),
    false,
    'request',
    /no room/,
  ],
  [
    'a page',
    json('<html>', { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    true,
    'network',
    /http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions answered with text\/html/,
  ],
  [
    'a spent quota',
    json(
      { error: { message: 'pay', type: 'insufficient_quota', code: 'insufficient_quota' } },
      { status: 429 },
    ),
    false,
    'auth',
    /pay/,
  ],
  [
    'no such address',
    json({ detail: 'Not Found' }, { status: 404 }),
    false,
    'request',
    /Not Found \(http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions; look whether baseUrl is whole/,
  ],
])('%s is a failure that says so', async (_, answer, stream, kind, words) => {
  const found = await failure({ server, answer, options: { stream } });
  expect(found).toMatchObject({ kind });
  expect(found.message).toMatch(words);
});

it('a host that does not exist is final', async () => {
  // Where the machine has a proxy, that would be asked.
  process.env['no_proxy'] = '*';
  const found = await failure({
    server,
    answer: json({}),
    options: { baseUrl: 'http://no-such-host.invalid/v1' },
  });
  expect(found).toMatchObject({ kind: 'request', options: { retryable: false } });
  expect(found.message).toContain('no-such-host.invalid');
});

describe('what a server wants back', () => {
  const SIGNED = { google: { thought_signature: 'SIG==' } };
  const DETAILS = [
    { type: 'reasoning.text', index: 0, text: 'because', signature: 'S' },
    { type: 'reasoning.encrypted', index: 1, data: 'ENC==' },
  ];
  const wholeAndStreamed = (message: Record<string, unknown>, deltas: unknown[]): [boolean, Answer][] => [
    [false, json(completion(message))],
    [true, streamOf(...deltas, delta({}, 'stop'))],
  ];
  const roundTrip = async (answer: Answer, stream: boolean): Promise<unknown> => {
    const reply = await ask(answer, stream);
    const { text: content, toolCalls, opaque } = reply;
    const said: ModelMessage = {
      role: 'assistant',
      content,
      toolCalls,
      ...(opaque === undefined ? {} : { opaque }),
    };
    const messages: ModelMessage[] = [
      { role: 'user', content: 'go' },
      said,
      { role: 'tool', toolCallId: 'c1', toolName: 'read_file', content: 'A' },
    ];
    await generate({ server, answer: json(completion({ content: 'ok' })), request: { messages } });
    const body = server.requests.at(-1)?.body as { messages: unknown[] };
    return body.messages[2];
  };

  it.each<[string, [boolean, Answer][], object]>([
    [
      'the signature of a call',
      wholeAndStreamed({ tool_calls: [{ ...CALL, extra_content: SIGNED }] }, [
        delta({ tool_calls: [{ index: 0, ...CALL, extra_content: SIGNED }] }),
      ]),
      { tool_calls: [{ ...CALL, extra_content: SIGNED }] },
    ],
    [
      'the signature of a call that comes in a later piece',
      [
        [
          true,
          streamOf(
            delta({ tool_calls: [{ index: 0, ...CALL }] }),
            piece({ index: 0, extra_content: SIGNED }, {}),
            delta({}, 'stop'),
          ),
        ],
      ],
      { tool_calls: [{ ...CALL, extra_content: SIGNED }] },
    ],
    [
      'fields of a proxy',
      wholeAndStreamed(
        {
          content: 'x',
          provider_specific_fields: { a: 1 },
          tool_calls: [
            {
              ...CALL,
              function: {
                ...(CALL['function'] as object),
                provider_specific_fields: { thought_signature: 'S' },
              },
            },
          ],
        },
        [
          delta({ content: 'x', provider_specific_fields: { a: 1 } }),
          delta({
            tool_calls: [
              {
                index: 0,
                ...CALL,
                function: {
                  ...(CALL['function'] as object),
                  provider_specific_fields: { thought_signature: 'S' },
                },
              },
            ],
          }),
        ],
      ),
      {
        provider_specific_fields: { a: 1 },
        tool_calls: [{ function: { provider_specific_fields: { thought_signature: 'S' } } }],
      },
    ],
    ...['reasoning_content', 'reasoning'].map((field): [string, [boolean, Answer][], object] => [
      `thoughts in ${field}`,
      wholeAndStreamed({ content: 'x', [field]: 'because', tool_calls: [CALL] }, [
        delta({ [field]: 'be' }),
        delta({ [field]: 'cause' }),
        delta({ content: 'x', tool_calls: [{ index: 0, ...CALL }] }),
      ]),
      { content: 'x', [field]: 'because' },
    ]),
    [
      'details of thoughts',
      wholeAndStreamed({ reasoning: 'because', reasoning_details: DETAILS, tool_calls: [CALL] }, [
        delta({ reasoning: 'be', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'be' }] }),
        delta({
          reasoning: 'cause',
          reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'cause' }],
        }),
        delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: '', signature: 'S' }] }),
        delta({ reasoning_details: [DETAILS[1]] }),
        delta({ tool_calls: [{ index: 0, ...CALL }] }),
      ]),
      { reasoning: 'because', reasoning_details: DETAILS },
    ],
    [
      'thoughts in the content',
      wholeAndStreamed(
        {
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: 'because' }] },
            { type: 'text', text: 'x' },
          ],
          tool_calls: [CALL],
        },
        [
          delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'be' }] }] }),
          delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'cause' }] }] }),
          delta({ content: 'x', tool_calls: [{ index: 0, ...CALL }] }),
        ],
      ),
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'because' }] },
          { type: 'text', text: 'x' },
        ],
      },
    ],
  ])('is given back: %s', async (_, answers, expected) => {
    for (const [stream, answer] of answers) expect(await roundTrip(answer, stream)).toMatchObject(expected);
  });

  it('is only what came: thoughts in the text are not', async () => {
    const sent = await roundTrip(
      json(completion({ content: '<think>because</think>\nx', tool_calls: [CALL] })),
      false,
    );
    expect(sent).toEqual({ role: 'assistant', content: 'x', tool_calls: [CALL] });
  });

  it('is made up for Gemini 3 where another model made the call', async () => {
    const messages: ModelMessage[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', toolCalls: [READ, { ...READ, id: 'c2' }] },
    ];
    const options = { model: 'gemini-3-pro' };
    await generate({ server, answer: json(completion({ content: 'ok' })), request: { messages }, options });
    const { messages: sent } = server.requests[0]?.body as { messages: { tool_calls: object[] }[] };
    expect(sent.at(-1)?.tool_calls[0]).toMatchObject({
      extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } },
    });
    expect(sent.at(-1)?.tool_calls[1]).not.toHaveProperty('extra_content');
  });
});

describe('the count of tokens', () => {
  it.each<[string, Record<string, unknown>, Record<string, number>]>([
    [
      'thoughts that only the total has',
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 310,
        completion_tokens_details: { reasoning_tokens: 200 },
      },
      { inputTokens: 100, outputTokens: 210, totalTokens: 310, reasoningTokens: 200 },
    ],
    [
      'thoughts without a total',
      { prompt_tokens: 100, completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 200 } },
      { inputTokens: 100, outputTokens: 210, totalTokens: 310, reasoningTokens: 200 },
    ],
    [
      'thoughts that are counted',
      {
        prompt_tokens: 100,
        completion_tokens: 210,
        total_tokens: 310,
        completion_tokens_details: { reasoning_tokens: 200 },
      },
      { inputTokens: 100, outputTokens: 210, totalTokens: 310, reasoningTokens: 200 },
    ],
    [
      'cached tokens of OpenAI',
      { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 60 } },
      { inputTokens: 100, outputTokens: 1, totalTokens: 101, cachedInputTokens: 60 },
    ],
    [
      'cached tokens of DeepSeek',
      { prompt_tokens: 100, completion_tokens: 1, prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 },
      { inputTokens: 100, outputTokens: 1, totalTokens: 101, cachedInputTokens: 60 },
    ],
    [
      'numbers as texts',
      { prompt_tokens: '100', completion_tokens: '1', total_tokens: '101' },
      { inputTokens: 100, outputTokens: 1, totalTokens: 101 },
    ],
  ])('reads %s', async (_, usage, expected) => {
    expect((await ask(json(completion({ content: 'x' }, 'stop', { usage })), false)).usage).toEqual(expected);
    const streamed = streamOf(delta({ content: 'x' }), delta({}, 'stop'), { choices: [], usage });
    expect((await ask(streamed, true)).usage).toEqual(expected);
  });
});

describe('settings', () => {
  it('are fields of the body', async () => {
    const settings = {
      temperature: 0,
      parallel_tool_calls: false,
      chat_template_kwargs: { enable_thinking: false },
      own: [1],
      stream_options: null,
    };
    await generate({
      server,
      answer: json(completion({ content: 'x' })),
      options: { settings, maxOutputTokens: 9, stream: true },
    });
    const { stream_options: _left, ...fields } = settings;
    expect(server.requests[0]?.body).toMatchObject({ ...fields, max_tokens: 9 });
    expect(server.requests[0]?.body).not.toHaveProperty('stream_options');
  });

  it.each<[string, Record<string, never> | object]>([
    ['a temperature in words', { temperature: 'hot' }],
    ['no tokens', { max_tokens: 0 }],
    ['another conversation', { messages: [] }],
  ])('are refused: %s', async (_, settings) => {
    const asked = (): Promise<ModelReply> =>
      generate({ server, answer: json({}), options: { settings: settings as Record<string, never> } });
    expect(asked).toThrow(/openaiCompatible/);
  });
});

describe('a server that wants thoughts back', () => {
  const foreign: ModelMessage[] = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: '', toolCalls: [READ] },
    { role: 'tool', toolCallId: 'c1', toolName: 'read_file', content: 'A' },
  ];
  const refusing: Answer = (response, request) => {
    const isOff = JSON.stringify(request.body).includes('"thinking":{"type":"disabled"}');
    const words = 'The reasoning_content in the thinking mode must be passed back to the API.';
    const refused = json({ error: { message: words, type: 'invalid_request_error' } }, { status: 400 });
    (isOff ? json(completion({ content: 'ok' })) : refused)(response, request);
  };

  it.each([
    ['at once where the settings ask for thinking', { thinking: { type: 'enabled' } }, 1],
    ['after its refusal where the model thinks by itself', {}, 2],
  ])('is asked without thinking, %s', async (_, settings, asked) => {
    const reply = await generate({
      server,
      answer: refusing,
      options: { settings },
      request: { messages: foreign },
    });
    expect(reply.text).toBe('ok');
    expect(server.requests).toHaveLength(asked);
  });
});
