import { APICallError } from '@ai-sdk/provider';
import { toModelError } from '../../src/models/provider-errors';
import { failure, KEY } from './openai/attempt';
import { type Answer, completion, delta, json, recorded, startServer, useServer } from './openai/server';

const server = useServer();

describe('errors', () => {
  const error = (message: string, code: unknown = null) => ({ error: { message, type: null, code } });

  it.each([
    [429, 'rate_limit', true],
    [408, 'timeout', true],
    [504, 'timeout', true],
    [409, 'server', true],
    [500, 'server', true],
    [502, 'server', true],
    [503, 'server', true],
    [529, 'server', true],
    [401, 'auth', false],
    [402, 'auth', false],
    [403, 'auth', false],
    [400, 'request', false],
    [404, 'request', false],
    [413, 'request', false],
    [422, 'request', false],
  ])('HTTP %i is %s, retried: %s', async (status, kind, retryable) => {
    for (const stream of [false, true]) {
      const found = await failure({
        server,
        answer: json(error(`because ${KEY} and Bearer ${KEY}`), { status }),
        options: { stream },
      });
      expect(found).toMatchObject({ kind, options: { retryable } });
      expect(found.message).toContain(`HTTP ${status}`);
      expect(found.message).toContain('because [redacted]');
    }
    expect(server.requests).toHaveLength(2);
  });

  it.each<[string, { status: number; body: unknown }, string]>([
    ['{error: text}', { status: 404, body: { error: 'no such model' } }, 'no such model'],
    ['{message}', { status: 400, body: { message: 'too long' } }, 'too long'],
    ['{detail}', { status: 422, body: { detail: 'wrong field' } }, 'wrong field'],
    [
      'a list',
      { status: 400, body: [{ error: { message: 'bad', code: 400, status: 'INVALID_ARGUMENT' } }] },
      'bad',
    ],
    ['a page', { status: 502, body: '<html>Bad gateway</html>' }, 'HTTP 502'],
    ['nothing', { status: 500, body: '' }, 'HTTP 500'],
    ['the head of a long one', { status: 400, body: { error: { message: 'y'.repeat(100_000) } } }, 'yyy'],
  ])('explains a body of the form %s', async (_, { status, body }, words) => {
    const { message } = await failure({ server, answer: json(body, { status }) });
    expect(message).toContain(words);
    expect(message.length).toBeLessThan(1200);
  });

  it.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['part of a second', { 'retry-after': '0.25' }, 250],
    ['milliseconds, which win', { 'retry-after-ms': '120', 'retry-after': '9' }, 120],
    ['no wait', { 'retry-after': '0' }, 0],
    ['a date that is over', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    ['more than a day', { 'retry-after': '999999999' }, 86_400_000],
    ['nonsense', { 'retry-after': '5 apples' }, undefined],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['nothing', {}, undefined],
  ])('honours retry-after: %s', async (_, headers, expected) => {
    for (const status of [429, 503]) {
      const { options } = await failure({ server, answer: json(error('slow down'), { status, headers }) });
      expect(options.retryAfterMs).toBe(expected);
    }
  });

  it('does not retry after what waiting cannot cure', async () => {
    const { options } = await failure({
      server,
      answer: json(error('no'), { status: 401, headers: { 'retry-after': '3' } }),
    });
    expect(options).toEqual({ retryable: false });
  });

  it.each<[string, Answer, string]>([
    ['by status 400 and a code', json(error('filtered', 'content_filter'), { status: 400 }), 'refused'],
    ['by finish reason', json(completion({ content: 'x' }, 'content_filter')), 'refused'],
    ['by refusal', json(completion({ content: null, refusal: 'I will not' })), 'refused'],
    ['a rate limit in a body of status 200', json(error('later', 429)), 'rate_limit'],
    ['a wrong key in a body of status 200', json(error('who?', 'invalid_api_key')), 'auth'],
    ['an error without a code in a body of status 200', json(error('oops')), 'server'],
    ['no choices', json({ choices: [] }), 'server'],
    ['choices that are null', json({ choices: null }), 'server'],
    ['a list', json([]), 'server'],
    ['cut JSON', json('{"choices":[{"message":{"role":"assis'), 'network'],
    ['no body', json(''), 'network'],
    ['a page of HTML', json('<html></html>', { headers: { 'content-type': 'text/html' } }), 'network'],
    ['no answer at all', (response) => void response.destroy(), 'network'],
    [
      'a body shorter than announced',
      (response) => {
        response.writeHead(200, { 'content-length': '5000' });
        response.write('{"choices":', () => response.destroy());
      },
      'network',
    ],
  ])('%s', async (_, answer, kind) => {
    const found = await failure({ server, answer: answer });
    expect(found).toMatchObject({ kind, options: { retryable: kind !== 'refused' && kind !== 'auth' } });
  });

  it.each([true, false])('a page names where it came from, and what it is (stream: %s)', async (stream) => {
    const page = json('<html></html>', { headers: { 'content-type': 'text/html; charset=utf-8' } });
    const { message } = await failure({ server, answer: page, options: { stream } });
    expect(message).toContain(`${server.baseUrl}/chat/completions answered with text/html; charset=utf-8`);
  });

  it('a spent quota is not waited for', async () => {
    const spent = { error: { message: 'pay', type: 'insufficient_quota', code: 'insufficient_quota' } };
    const found = await failure({ server, answer: json(spent, { status: 429 }) });
    expect(found).toMatchObject({ kind: 'auth', options: { retryable: false } });
  });

  it('a host that nobody knows is not asked again', () => {
    const cause = Object.assign(new Error('getaddrinfo ENOTFOUND no.such.host'), { code: 'ENOTFOUND' });
    const found = toModelError(new TypeError('fetch failed', { cause }), { model: 'm', secrets: [] });
    expect(found).toMatchObject({ kind: 'request', options: { retryable: false } });
    expect(found.message).toContain('there is no such host; look at baseUrl');
  });

  it('a server that is not there is network', async () => {
    const gone = await startServer();
    await gone.close();
    expect(await failure({ server, answer: json({}), options: { baseUrl: gone.baseUrl } })).toMatchObject({
      kind: 'network',
    });
  });

  it('a body without end is cut off, and its connection closed', async () => {
    const piece = 'z'.repeat(4_000_000);
    const closed = new Promise<void>((resolve) => {
      server.answer = (response) => void response.on('close', resolve);
    });
    const onClose = server.answer;
    const pour: Answer = (response, request) => {
      onClose(response, request);
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => void (response.destroyed || response.write(piece, () => setImmediate(more)));
      more();
    };
    expect(await failure({ server, answer: pour })).toMatchObject({
      kind: 'server',
      options: { retryable: true },
    });
    await closed;
  });
});

describe('time', () => {
  const silent: Answer = () => undefined;
  const stalling: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(recorded([delta({ content: 'hel' })], false));
  };
  const places: [string, Answer, boolean][] = [
    ['before the headers', silent, false],
    ['before the headers of a stream', silent, true],
    ['inside a body', stalling, false],
    ['inside a stream', stalling, true],
  ];

  it.each(places)('the timeout ends a request %s', async (_, answer, stream) => {
    const found = await failure({ server, answer, options: { stream, timeout: 100 } });
    expect(found).toMatchObject({ kind: 'timeout', options: { retryable: true } });
  });

  it.each(places)('the signal ends a request %s, whatever its reason', async (_, answer, stream) => {
    const caller = new AbortController();
    let close: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (close = resolve));
    const abortSoon: Answer = (response, request) => {
      response.on('close', close);
      answer(response, request);
      setImmediate(() => caller.abort(new Error(`cancelled, ${KEY}`)));
    };
    const found = await failure({
      server,
      answer: abortSoon,
      options: { stream },
      request: { signal: caller.signal },
    });
    expect(found).toMatchObject({
      kind: 'timeout',
      message: 'test/m: the request was given up: its time was over, or its turn or worker ended',
    });
    await closed;
  });

  it('an aborted signal sends nothing', async () => {
    const found = await failure({ server, answer: silent, request: { signal: AbortSignal.abort() } });
    expect(found.kind).toBe('timeout');
    expect(server.requests).toHaveLength(0);
  });
});

describe('toModelError', () => {
  it.each<[string, unknown]>([
    ['an Error', new Error('boom')],
    ['a string', 'boom'],
    ['a circle of causes', circle()],
    ['an Error without a name', Object.assign(new Error('boom'), { name: undefined })],
  ])('maps %s to a retried network failure', (_, thrown) => {
    const found = toModelError(thrown, { model: 'm', secrets: [] });
    expect(found).toMatchObject({ kind: 'network', options: { retryable: true } });
    expect(found.message).toBe('m: the request failed: boom');
  });

  it.each([undefined, null, 0])('survives %s', (thrown) => {
    expect(toModelError(thrown, { model: 'm', secrets: [] }).options.retryable).toBe(true);
  });
});

function circle(): Error {
  const error = new Error('boom');
  error.cause = error;
  return error;
}

const NOW = Date.parse('2026-01-01T00:00:00Z');

it.each<[string, Record<string, string>, number | undefined]>([
  ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
  ['a date of the old form', { 'retry-after': 'Thursday, 01-Jan-26 00:01:00 GMT' }, 60_000],
  ['a date far away', { 'retry-after': 'Fri, 01 Jan 2027 00:00:00 GMT' }, 86_400_000],
  ['a date that is none', { 'retry-after': 'Thu, 99 Foo 2026 00:00:00 GMT' }, undefined],
  ['half a millisecond', { 'retry-after-ms': '0.5' }, 1],
  ['bad milliseconds beside good seconds', { 'retry-after-ms': 'soon', 'retry-after': '2' }, 2000],
  ['a number too long to be one', { 'retry-after': '9'.repeat(1000) }, undefined],
  ['hexadecimal', { 'retry-after': '0x10' }, undefined],
  ['empty', { 'retry-after': '' }, undefined],
])('%s', (_, headers, expected) => {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(NOW);
  const told = { message: '', url: '', requestBodyValues: {}, statusCode: 429, responseHeaders: headers };
  const { options } = toModelError(new APICallError(told), { model: 'm', secrets: [] });
  expect(options.retryAfterMs).toBe(expected);
  clock.mockRestore();
});
