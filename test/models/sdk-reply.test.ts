import type { ModelReply } from '../../src/models/model';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { failure, generate } from './openai/attempt';
import { isThorough } from '../support/thorough';
import { delta, pieces, recorded, requestOf, startServer, type FakeServer } from './openai/server';

let server: FakeServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const options = { stream: true };
const ask = (parts: readonly (string | Buffer)[], end: 'end' | 'destroy' = 'end') =>
  generate({ server, answer: pieces(parts, end), options });
const fail = (parts: readonly (string | Buffer)[], end: 'end' | 'destroy' = 'end') =>
  failure({ server, answer: pieces(parts, end), options });

/** A piece of a call; only its first has the name. */
const call = (index: number, id: string, wire: { name?: string; arguments: string }) => ({
  tool_calls: [{ index, id, function: wire }],
});

const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const chunks = [
  delta({ role: 'assistant', content: 'Löok ' }),
  delta({ content: '→ 😀' }),
  delta(call(0, 'a', { name: 'read_file', arguments: '' })),
  delta(call(0, 'a', { arguments: '{"path":' })),
  delta(call(0, 'a', { arguments: '"ä"}' })),
  delta(call(1, 'b', { name: 'list_directory', arguments: '{}' })),
  delta({}, 'tool_calls'),
  { id: 'c1', choices: [], usage },
];
const whole: ModelReply = {
  text: 'Löok → 😀',
  toolCalls: [
    { id: 'a', name: 'read_file', arguments: '{"path":"ä"}' },
    { id: 'b', name: 'list_directory', arguments: '{}' },
  ],
  finishReason: 'tool-calls',
  usage: { inputTokens: 10, outputTokens: 20, totalTokens: 30 },
};

it('asks for a stream with usage and puts the reply together', async () => {
  server.requests.length = 0;
  expect(await ask([recorded(chunks)])).toEqual(whole);
  expect(server.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

it.each([1, 2, 3, 7, 64])('in pieces of %i bytes', async (size) => {
  const bytes = recorded(chunks);
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
  expect(await ask(parts)).toEqual(whole);
});

it.each([
  ['with other line ends', recorded(chunks).toString().replaceAll('\n', '\r\n')],
  ['with comments', recorded(chunks).toString().replaceAll('data: {', ': ping\n\ndata: {')],
  ['without the last mark', recorded(chunks, false).toString()],
])('%s', async (_, text) => {
  expect(await ask([text])).toEqual(whole);
});

describe('cut at any byte', () => {
  const bytes = recorded(chunks);
  // An event counts once the empty line after it has arrived.
  const finished = bytes.indexOf('\n\n', bytes.indexOf('"tool_calls"}')) + 2;

  const STRIDE = isThorough ? 1 : 9;

  it.each([
    ['end', STRIDE],
    ['destroy', 7 * STRIDE],
  ] as const)(
    '(%s, every %i) it is all of the reply or a retried failure',
    async (end, stride) => {
      // One model for all of them: making one builds its schemas anew.
      const model = openaiCompatible({ baseUrl: server.baseUrl, model: 'm', ...options });
      for (let offset = 0; offset < bytes.length; offset += stride) {
        server.answer = pieces([bytes.subarray(0, offset)], end);
        const outcome = await model.generate(requestOf()).catch((error: unknown) => error);
        if (offset < finished || end === 'destroy') expectRetried(outcome, offset);
        else expect(outcome).toMatchObject({ text: whole.text, toolCalls: whole.toolCalls });
      }
      // Hundreds of requests: a busy machine takes its time.
    },
    240_000,
  );

  function expectRetried(outcome: unknown, offset: number): void {
    // The offset only shows in a failure.
    expect({ offset, outcome }).toMatchObject({
      offset,
      outcome: {
        name: 'ModelError',
        kind: expect.stringMatching(/network|timeout/),
        options: { retryable: true },
      },
    });
  }
});

describe('two calls with one id', () => {
  it.each([
    [
      'by index, whole',
      [
        call(0, 'x', { name: 'read_file', arguments: '{"path":"1"}' }),
        call(1, 'x', { name: 'read_file', arguments: '{"path":"2"}' }),
      ],
    ],
    [
      'by index, in turns',
      [
        call(0, 'x', { name: 'read_file', arguments: '{"path"' }),
        call(1, 'x', { name: 'read_file', arguments: '{"path"' }),
        call(0, 'x', { arguments: ':"1"}' }),
        call(1, 'x', { arguments: ':"2"}' }),
      ],
    ],
  ])('%s: both survive, with their arguments', async (_, deltas) => {
    const reply = await ask([recorded([...deltas.map((one) => delta(one)), delta({}, 'tool_calls')])]);
    expect(reply.toolCalls.map((one) => one.arguments)).toEqual(['{"path":"1"}', '{"path":"2"}']);
    expect(reply.toolCalls[0]?.id).toBe('x');
  });
});

it.each<[string, unknown[], string]>([
  [
    'an error event with a code',
    [delta({ content: 'a' }), { error: { message: 'busy', code: 'rate_limit_exceeded' } }],
    'rate_limit',
  ],
  ['an error event with a status', [{ error: { message: 'gone', code: 503 } }], 'server'],
  ['an error event that says nothing', [{ error: { message: '' } }], 'server'],
  ['an event that is not JSON', [delta({ content: 'a' }), '{"choices":', delta({}, 'stop')], 'network'],
  ['an event of another form', [{ choices: 'none' }, delta({}, 'stop')], 'server'],
  [
    'a call without a name',
    [delta({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] }), delta({}, 'stop')],
    'server',
  ],
  ['a content filter', [delta({ content: 'a' }), delta({}, 'content_filter')], 'refused'],
  ['a refusal', [delta({ refusal: 'I ' }), delta({ refusal: 'will not' }), delta({}, 'stop')], 'refused'],
  ['nothing', [], 'network'],
])('%s is a failure', async (_, events, kind) => {
  expect(await fail([recorded(events)])).toMatchObject({ kind });
});

it('a refusal is shown in full', async () => {
  const found = await fail([
    recorded([delta({ refusal: 'I ' }), delta({ refusal: 'will not' }), delta({}, 'stop')]),
  ]);
  expect(found.message).toBe('test/m: the model refused: I will not');
});
