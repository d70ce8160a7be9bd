import { inspect } from 'node:util';
import { z } from 'zod';
import { CountersignError } from '../../src/contract/errors';
import { type Model, ModelError, type ModelMessage, type ModelReply } from '../../src/models/model';
import { anthropic, google, modelOf, openai, type ProviderOptions } from '../../src/models/providers';
import { resolveParameters } from '../../src/tools/parameters';
import { type Answer, json, pieces, recorded, requestOf, useServer } from './openai/server';

const KEY = 'sk-very-secret-key-0123456789';

const server = useServer();

const MAKE = { openai, anthropic, google };
type Name = keyof typeof MAKE;
const NAMES: Name[] = ['openai', 'anthropic', 'google'];

const MODELS = { openai: 'gpt-5', anthropic: 'claude-sonnet-4-5', google: 'gemini-2.5-pro' };

const make = (name: Name, more: Partial<ProviderOptions> = {}): Model =>
  MAKE[name]({ model: MODELS[name], baseUrl: server.baseUrl, apiKey: KEY, ...more });

const sse = (events: readonly Record<string, unknown>[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const META = { id: 'resp_1', created_at: 1, model: 'gpt-5' };
const REASONING = {
  type: 'reasoning',
  id: 'rs_1',
  encrypted_content: 'ENC==',
  summary: [{ type: 'summary_text', text: 'hm' }],
};
const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'read_file',
  arguments: '{"path":"ä"}',
  status: 'completed',
};
const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Let me look.', annotations: [] }],
};
const OPENAI_USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 150,
};

const CLAUDE_PARTS = [
  { type: 'thinking', thinking: 'hm', signature: 'SIG==' },
  { type: 'redacted_thinking', data: 'RED==' },
  { type: 'text', text: 'Let me look.' },
  { type: 'tool_use', id: 'call_1', name: 'read_file', input: { path: 'ä' } },
];
const CLAUDE_USAGE = {
  input_tokens: 30,
  cache_read_input_tokens: 60,
  cache_creation_input_tokens: 10,
  output_tokens: 50,
};

const GEMINI_PARTS = [
  { text: 'hm', thought: true },
  { text: 'Let me look.' },
  { functionCall: { name: 'read_file', args: { path: 'ä' } }, thoughtSignature: 'SIG==' },
];
const GEMINI_USAGE = {
  promptTokenCount: 100,
  cachedContentTokenCount: 60,
  candidatesTokenCount: 30,
  thoughtsTokenCount: 20,
  totalTokenCount: 150,
};

const BASE64 = Buffer.from('bytes').toString('base64');
const message = z.looseObject({ content: z.unknown().optional(), parts: z.unknown().optional() });
const bodySchema = z.looseObject({
  input: z.array(message).optional(),
  messages: z.array(message).optional(),
  contents: z.array(message).optional(),
});

/** The words `look`, an image and a document, as each provider takes them. */
const FILES: Record<Name, unknown> = {
  openai: [
    { type: 'input_text', text: 'look' },
    { type: 'input_image', image_url: `data:image/png;base64,${BASE64}` },
    { type: 'input_file', filename: 'b.pdf', file_data: `data:application/pdf;base64,${BASE64}` },
  ],
  anthropic: [
    { type: 'text', text: 'look' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: BASE64 } },
    {
      ...{ type: 'document', title: 'b.pdf' },
      source: { type: 'base64', media_type: 'application/pdf', data: BASE64 },
    },
  ],
  google: [
    { text: 'look' },
    { inlineData: { mimeType: 'image/png', data: BASE64 } },
    { inlineData: { mimeType: 'application/pdf', data: BASE64 } },
  ],
};

/** One reply with reasoning, text and a call, as each provider writes it: whole and as a stream. */
const REPLY: Record<Name, { whole: unknown; stream: string }> = {
  openai: {
    whole: {
      ...META,
      object: 'response',
      status: 'completed',
      output: [REASONING, MESSAGE, CALL],
      usage: OPENAI_USAGE,
    },
    stream: sse([
      { type: 'response.created', response: META },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...REASONING, encrypted_content: null, summary: [] },
      },
      { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', summary_index: 0 },
      { type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', summary_index: 0, delta: 'hm' },
      { type: 'response.reasoning_summary_part.done', item_id: 'rs_1', summary_index: 0 },
      { type: 'response.output_item.done', output_index: 0, item: REASONING },
      { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, content: [] } },
      { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Let me ' },
      { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'look.' },
      { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
      { type: 'response.output_item.added', output_index: 2, item: { ...CALL, arguments: '' } },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'fc_1',
        output_index: 2,
        delta: CALL.arguments,
      },
      { type: 'response.output_item.done', output_index: 2, item: CALL },
      { type: 'response.completed', response: { usage: OPENAI_USAGE } },
    ]),
  },
  anthropic: {
    whole: {
      type: 'message',
      id: 'm1',
      model: 'c',
      role: 'assistant',
      content: CLAUDE_PARTS,
      stop_reason: 'tool_use',
      usage: CLAUDE_USAGE,
    },
    stream: sse([
      {
        type: 'message_start',
        message: {
          type: 'message',
          id: 'm1',
          model: 'c',
          role: 'assistant',
          content: [],
          stop_reason: null,
          usage: { ...CLAUDE_USAGE, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIG==' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'RED==' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Let me ' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'look.' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'content_block_start',
        index: 3,
        content_block: { type: 'tool_use', id: 'call_1', name: 'read_file', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 3,
        delta: { type: 'input_json_delta', partial_json: '{"path":"ä"}' },
      },
      { type: 'content_block_stop', index: 3 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 50 } },
      { type: 'message_stop' },
    ]),
  },
  google: {
    whole: {
      candidates: [{ content: { role: 'model', parts: GEMINI_PARTS }, finishReason: 'STOP' }],
      usageMetadata: GEMINI_USAGE,
    },
    stream: recorded(
      [
        { candidates: [{ content: { role: 'model', parts: GEMINI_PARTS.slice(0, 1) } }] },
        { candidates: [{ content: { role: 'model', parts: [{ text: 'Let me ' }] } }] },
        { candidates: [{ content: { role: 'model', parts: [{ text: 'look.' }] } }] },
        {
          candidates: [{ content: { role: 'model', parts: GEMINI_PARTS.slice(2) }, finishReason: 'STOP' }],
          usageMetadata: GEMINI_USAGE,
        },
      ],
      false,
    ).toString(),
  },
};

const answer = (name: Name, stream: boolean): Answer =>
  stream ? pieces([REPLY[name].stream]) : json(REPLY[name].whole);

const ask = (model: Model, given: Answer, messages?: ModelMessage[]): Promise<ModelReply> => {
  server.answer = given;
  return model.generate(requestOf(messages && { messages }));
};

const failureOf = async (asked: Promise<unknown>): Promise<ModelError> => {
  const error: unknown = await asked.then(
    (reply) => expect(reply).toBe('an error'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw new Error(`no ModelError: ${inspect(error)}`);
  expect(inspect(error, { depth: null, showHidden: true }) + String(error.stack)).not.toContain(KEY);
  return error;
};

/** The conversation after the reply of `REPLY` and its call. */
const after = ({ text, toolCalls, opaque }: ModelReply): ModelMessage[] => [
  { role: 'user', content: 'hello' },
  { role: 'assistant', content: text, toolCalls, ...(opaque === undefined ? {} : { opaque }) },
  { role: 'tool', toolCallId: toolCalls[0]?.id ?? '', toolName: 'read_file', content: 'text of ä' },
];

/** What each provider finds of its own in the next request. */
const ROUND: Record<Name, unknown> = {
  openai: {
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
      REASONING,
      { role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'Let me look.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{"path":"ä"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'text of ä' },
    ],
  },
  anthropic: {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
      { role: 'assistant', content: CLAUDE_PARTS },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'text of ä' }] },
    ],
  },
  google: {
    contents: [
      { role: 'user', parts: [{ text: 'hello' }] },
      {
        role: 'model',
        parts: [{ text: 'hm', thought: true }, { text: 'Let me look.' }, { ...GEMINI_PARTS[2] }],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'read_file' } }] },
    ],
  },
};

const WHOLE = {
  type: 'object',
  properties: {
    to: { type: 'array', items: { type: 'string', format: 'email' } },
    when: { type: 'string', format: 'date-time' },
    level: { type: 'number', enum: [1, 2] },
    labels: { additionalProperties: { type: 'number' } },
  },
};

/** The tool of a schema with much that providers cannot say, as each gets it. */
const TOOLS: Record<Name, unknown> = {
  openai: [{ type: 'function', name: 'send_mail', strict: false, parameters: WHOLE }],
  anthropic: [{ name: 'send_mail', input_schema: WHOLE }],
  google: [
    {
      functionDeclarations: [
        {
          name: 'send_mail',
          parameters: {
            type: 'object',
            properties: {
              to: { type: 'array', items: { type: 'string', description: 'format: email' } },
              when: { type: 'string', format: 'date-time' },
              level: { type: 'number', description: 'one of: 1, 2' },
              mixed: { description: 'one of: "a", 1' },
              pair: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
              labels: {
                type: 'object',
                description: expect.stringContaining('each value is: {"type":"number"}'),
              },
            },
            required: ['to', 'when', 'level', 'mixed', 'pair', 'labels'],
          },
        },
      ],
    },
  ],
};

describe.each(NAMES)('%s', (name) => {
  describe.each([false, true])('with stream: %s', (stream) => {
    it('reads a reply with reasoning, text and a call', async () => {
      const reply = await ask(make(name, { stream }), answer(name, stream));
      expect(reply).toMatchObject({
        text: 'Let me look.',
        toolCalls: [{ name: 'read_file' }],
        finishReason: 'tool-calls',
        usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150, cachedInputTokens: 60 },
      });
      expect(JSON.parse(reply.toolCalls[0]?.arguments ?? '')).toEqual({ path: 'ä' });
      expect(server.requests[0]?.headers.authorization ?? `Bearer ${KEY}`).toBe(`Bearer ${KEY}`);
    });

    it('gives the provider back what it wants, unchanged', async () => {
      const model = make(name, { stream });
      const reply = await ask(model, answer(name, stream));
      await ask(model, answer(name, stream), after(reply));
      expect(server.requests[1]?.body).toMatchObject(ROUND[name] as object);
    });
  });

  it('gives files in the form of the provider', async () => {
    const bytes = Buffer.from('bytes');
    const files = [
      { name: 'a.png', mediaType: 'image/png', bytes },
      { name: 'b.pdf', mediaType: 'application/pdf', bytes },
    ];
    const message: ModelMessage = { role: 'user', content: 'look', files };
    await ask(make(name, { stream: false, cache: false }), json(REPLY[name].whole), [message]);
    const { input, messages, contents } = bodySchema.parse(server.requests[0]?.body);
    const sent = (input ?? messages ?? contents)?.at(-1);
    expect(sent?.content ?? sent?.parts).toEqual(FILES[name]);
  });

  it('says the parameters of a tool as the provider can read them', async () => {
    const parameters = resolveParameters(
      z.object({
        ...{
          to: z.array(z.email()),
          when: z.coerce.date(),
          level: z.literal([1, 2]),
          mixed: z.literal(['a', 1]),
        },
        ...{ pair: z.tuple([z.string(), z.number()]), labels: z.record(z.string(), z.number()) },
      }),
    ).schema;
    const tools = [
      { type: 'function' as const, function: { name: 'send_mail', description: 'Sends.', parameters } },
    ];
    server.answer = json(REPLY[name].whole);
    await make(name, { stream: false, cache: false }).generate({ ...requestOf(), tools });
    expect(server.requests[0]?.body).toMatchObject({ tools: TOOLS[name] });
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('$comment');
  });

  it('gives nothing of another model back', async () => {
    const other = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length] ?? 'openai';
    const reply = await ask(make(other), answer(other, true));
    await ask(make(name), answer(name, true), after(reply));
    const sent = JSON.stringify(server.requests[1]?.body);
    expect(sent).toContain('Let me look.');
    expect(sent).not.toMatch(/"hm"|SIG==|RED==|ENC==|rs_1|msg_1/);
  });

  it.each([
    ['text that was changed', { content: 'Let me look!!' }],
    ['calls that were changed', { toolCalls: [] }],
    ['parts that are not readable', { opaque: '{"by":' }],
  ])('gives nothing back beside %s', async (_, change) => {
    const reply = await ask(make(name), answer(name, true));
    const [user, said] = after(reply);
    const messages = [user, { ...said, ...change }, { role: 'user', content: 'go on' }] as ModelMessage[];
    await ask(make(name), answer(name, true), messages);
    expect(JSON.stringify(server.requests[1]?.body)).not.toMatch(/"hm"|SIG==|RED==|ENC==/);
  });

  it('hands on text while it comes, and gives the same in the end', async () => {
    server.answer = answer(name, true);
    let text = '';
    const onText = (more: string): void => void (text += more);
    const reply = await make(name).generate({ ...requestOf(), onText });
    expect(text).toBe('Let me look.');
    expect(reply.text).toBe(text);
  });

  it('takes a stream that is cut at any event for a failure to try again', async () => {
    const events = REPLY[name].stream.split('\n\n').slice(0, -2);
    for (let some = 1; some < events.length; some++) {
      const cut = events.slice(0, some).join('\n\n') + '\n\n';
      for (const end of ['end', 'destroy'] as const) {
        const error = await failureOf(ask(make(name), pieces([cut], end)));
        expect(error).toMatchObject({ options: { retryable: true } });
      }
    }
  });

  it('gives up a stream that hangs', async () => {
    const hang: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(REPLY[name].stream.split('\n\n').slice(0, 2).join('\n\n') + '\n\n');
    };
    const error = await failureOf(ask(make(name, { timeout: 200 }), hang));
    expect(error).toMatchObject({ kind: 'timeout', options: { retryable: true } });
  });

  it('follows no redirect', async () => {
    const away: Answer = (response) => {
      response.writeHead(302, { location: `${server.baseUrl}/elsewhere` });
      response.end();
    };
    expect(await failureOf(ask(make(name), away))).toMatchObject({ kind: 'request' });
    expect(server.requests.length).toBe(1);
  });
});

const ERRORS: [Name, string, number, unknown, string, Record<string, string>?][] = [
  [
    'openai',
    'a wrong key',
    401,
    {
      error: {
        message: `Incorrect API key provided: ${KEY}`,
        type: 'invalid_request_error',
        code: 'invalid_api_key',
      },
    },
    'auth',
  ],
  [
    'openai',
    'a rate limit',
    429,
    { error: { message: 'slow', type: 'tokens', code: 'rate_limit_exceeded' } },
    'rate_limit',
    { 'retry-after': '7' },
  ],
  [
    'openai',
    'a long conversation',
    400,
    { error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' } },
    'request',
  ],
  [
    'openai',
    'a filter',
    400,
    { error: { message: 'no', type: 'invalid_request_error', code: 'content_policy_violation' } },
    'refused',
  ],
  ['openai', 'a broken server', 500, { error: { message: 'oops', type: 'server_error' } }, 'server'],
  [
    'anthropic',
    'a wrong key',
    401,
    { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    'auth',
  ],
  [
    'anthropic',
    'a rate limit',
    429,
    { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } },
    'rate_limit',
    { 'retry-after': '7' },
  ],
  [
    'anthropic',
    'too many others',
    529,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    'server',
  ],
  [
    'anthropic',
    'a long conversation',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens' } },
    'request',
  ],
  [
    'anthropic',
    'a large body',
    413,
    { type: 'error', error: { type: 'request_too_large', message: 'too large' } },
    'request',
  ],
  [
    'google',
    'a wrong key',
    400,
    {
      error: {
        code: 400,
        message: 'API key not valid.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    },
    'auth',
  ],
  [
    'google',
    'a rate limit',
    429,
    {
      error: {
        code: 429,
        message: 'quota',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
      },
    },
    'rate_limit',
  ],
  [
    'google',
    'too many others',
    503,
    { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } },
    'server',
  ],
  [
    'google',
    'a long conversation',
    400,
    { error: { code: 400, message: 'input token count exceeds', status: 'INVALID_ARGUMENT' } },
    'request',
  ],
  [
    'google',
    'time over',
    504,
    { error: { code: 504, message: 'Deadline', status: 'DEADLINE_EXCEEDED' } },
    'timeout',
  ],
];

it.each(ERRORS)('%s: %s is an error of its kind', async (name, _, status, body, kind, headers = {}) => {
  const error = await failureOf(ask(make(name), json(body, { status, headers })));
  expect(error).toMatchObject({ kind });
  expect(error.message).toMatch(new RegExp(`^${name}:`));
  if (kind === 'rate_limit') expect(error.options.retryAfterMs).toBe(7000);
});

it.each<[Name, string, string, string]>([
  [
    'anthropic',
    'overloaded',
    sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]),
    'server',
  ],
  [
    'anthropic',
    'overloaded after words',
    REPLY.anthropic.stream.split('\n\n').slice(0, 9).join('\n\n') +
      '\n\n' +
      sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]),
    'server',
  ],
  [
    'openai',
    'limited',
    sse([
      {
        type: 'error',
        sequence_number: 1,
        error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'slow' },
      },
    ]),
    'rate_limit',
  ],
  [
    'openai',
    'failed after words',
    REPLY.openai.stream.split('\n\n').slice(0, 9).join('\n\n') +
      '\n\n' +
      sse([
        {
          type: 'response.failed',
          sequence_number: 3,
          response: { error: { code: 'server_error', message: 'oops' } },
        },
      ]),
    'server',
  ],
  [
    'google',
    'a blocked prompt',
    recorded([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }], false).toString(),
    'refused',
  ],
  [
    'google',
    'a blocked reply',
    recorded([{ candidates: [{ finishReason: 'SAFETY' }] }], false).toString(),
    'refused',
  ],
  [
    'anthropic',
    'a refusal',
    sse([
      {
        type: 'message_start',
        message: {
          type: 'message',
          id: 'm',
          model: 'c',
          role: 'assistant',
          content: [],
          stop_reason: null,
          usage: CLAUDE_USAGE,
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]),
    'refused',
  ],
  [
    'openai',
    'a refusal',
    sse([
      { type: 'response.created', response: META },
      { type: 'response.output_item.added', output_index: 0, item: { ...MESSAGE, content: [] } },
      {
        type: 'response.refusal.done',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        refusal: 'I cannot help.',
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...MESSAGE, content: [{ type: 'refusal', refusal: 'I cannot help.' }] },
      },
      { type: 'response.completed', response: { usage: OPENAI_USAGE } },
    ]),
    'refused',
  ],
])('%s: %s inside a stream is an error of its kind', async (name, _, stream, kind) => {
  expect(await failureOf(ask(make(name), pieces([stream])))).toMatchObject({ kind });
});

it('openai: a refusal in a JSON body is an error of its kind', async () => {
  const output = [{ ...MESSAGE, content: [{ type: 'refusal', refusal: 'I cannot help.' }] }];
  const whole = { ...META, object: 'response', status: 'completed', output, usage: OPENAI_USAGE };
  const error = await failureOf(ask(make('openai', { stream: false }), json(whole)));
  expect(error.message).toContain('I cannot help.');
  expect(error.kind).toBe('refused');
});

describe('what is sent', () => {
  it('has marks for the cache of Anthropic at the instructions and at the end', async () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    await ask(make('anthropic'), answer('anthropic', true));
    expect(server.requests[0]?.body).toMatchObject({
      system: [{ text: 'be brief', ...mark }],
      messages: [{ content: [{ text: 'hello', ...mark }] }],
    });
    await ask(make('anthropic', { cache: false }), answer('anthropic', true));
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain('cache_control');
  });

  it.each<[Name, Partial<ProviderOptions>, object]>([
    ['openai', { settings: { reasoningEffort: 'high' } }, { store: false, reasoning: { effort: 'high' } }],
    [
      'anthropic',
      { settings: { thinking: { type: 'enabled', budgetTokens: 2000 } }, maxOutputTokens: 5000 },
      { thinking: { budget_tokens: 2000 }, max_tokens: 7000 },
    ],
    [
      'google',
      { settings: { thinkingConfig: { thinkingBudget: 2000 } } },
      { generationConfig: { thinkingConfig: { thinkingBudget: 2000 } } },
    ],
  ])('%s: takes the settings of the provider', async (name, options, expected) => {
    await ask(make(name, options), answer(name, true));
    expect(server.requests[0]?.body).toMatchObject(expected);
  });

  it.each(NAMES)('%s: shows the key nowhere', (name) => {
    const model = make(name);
    expect(inspect(model, { depth: null, showHidden: true }) + JSON.stringify(model)).not.toContain(KEY);
    expect(model.id).toBe(`${name}:${MODELS[name]}`);
  });
});

describe('a fallback after another model', () => {
  const LONG = 'functions.read_file:0' + 'x'.repeat(100);
  const foreign: ModelMessage[] = [
    { role: 'user', content: 'hello' },
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: LONG, name: 'read_file', arguments: '{"path":"a"}' }],
    },
    { role: 'tool', toolCallId: LONG, toolName: 'read_file', content: 'A' },
  ];
  const THINKING = { settings: { thinking: { type: 'enabled', budgetTokens: 2000 } } } as const;

  it.each<[Name, RegExp]>([
    ['openai', /"call_id":"([\w-]{1,64})"/g],
    ['anthropic', /"(?:tool_use_)?id":"([\w-]{1,64})"/g],
  ])('%s gets ids that it takes, the same on call and result', async (name, pattern) => {
    await ask(make(name), answer(name, true), foreign);
    const ids = [...JSON.stringify(server.requests[0]?.body).matchAll(pattern)].map(([, id]) => id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('anthropic is asked without thinking where the last step has none', async () => {
    await ask(make('anthropic', THINKING), answer('anthropic', true), foreign);
    expect(server.requests[0]?.body).not.toHaveProperty('thinking.budget_tokens');
    expect(server.requests).toHaveLength(1);
  });

  it('anthropic thinks again with the next words, and where the step has its thoughts', async () => {
    const reply = await ask(make('anthropic', THINKING), answer('anthropic', true));
    await ask(make('anthropic', THINKING), answer('anthropic', true), after(reply));
    const done: ModelMessage[] = [...foreign, { role: 'assistant', content: 'done', toolCalls: [] }];
    await ask(make('anthropic', THINKING), answer('anthropic', true), [
      ...done,
      { role: 'user', content: 'more' },
    ]);
    for (const { body } of server.requests) expect(body).toMatchObject({ thinking: { type: 'enabled' } });
  });
});

describe('a strict gateway', () => {
  it('gets no field that only Anthropic takes', async () => {
    await ask(make('anthropic'), answer('anthropic', true));
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('eager_input_streaming');
    await ask(make('anthropic', { settings: { toolStreaming: true } }), answer('anthropic', true));
    expect(JSON.stringify(server.requests[1]?.body)).toContain('eager_input_streaming');
  });

  it('of OpenAI gets tools that are not strict', async () => {
    await ask(make('openai'), answer('openai', true));
    expect(server.requests[0]?.body).toMatchObject({ tools: [{ name: 'read_file', strict: false }] });
  });
});

describe('a name', () => {
  const before = process.env['OPENAI_API_KEY'];
  afterEach(() => {
    if (before === undefined) delete process.env['OPENAI_API_KEY'];
    else process.env['OPENAI_API_KEY'] = before;
  });
  const thrown = (act: () => unknown): CountersignError => {
    try {
      act();
    } catch (error) {
      if (error instanceof CountersignError) return error;
    }
    throw new Error('no CountersignError');
  };

  it('needs its key', () => {
    delete process.env['OPENAI_API_KEY'];
    expect(thrown(() => modelOf('openai:gpt-5'))).toMatchObject({
      code: 'config_invalid',
      message: 'openai: the environment variable OPENAI_API_KEY is not set',
    });
  });

  it('is the same model each time', () => {
    process.env['OPENAI_API_KEY'] = KEY;
    expect(modelOf('openai:gpt-5')).toBe(modelOf('openai:gpt-5'));
    expect(modelOf('openai:gpt-5').id).toBe('openai:gpt-5');
  });

  it.each(['', 'gpt-5', 'openai:', 'OpenAI:gpt-5', 'mistral:large', ' openai:gpt-5', '__proto__:x'])(
    '%j is refused',
    (name) => expect(thrown(() => modelOf(name)).code).toBe('config_invalid'),
  );

  it.each<[string, object]>([
    ['an unknown option', { retries: 3 }],
    ['no model', { model: '' }],
    ['another protocol', { baseUrl: 'file:///etc' }],
    ['half a token', { maxOutputTokens: 0.5 }],
    ['settings that are no object', { settings: [1] }],
  ])('with %s is refused', (_, more) => {
    expect(thrown(() => openai({ model: 'm', apiKey: KEY, ...more })).code).toBe('config_invalid');
  });
});
