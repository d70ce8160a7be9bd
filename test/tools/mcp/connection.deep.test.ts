import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { context, trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { describeFailure } from '../../../src/tools/format-result';
import { isTransportError, provenBy, TransportError } from '../../../src/tools/errors';
import type { McpConnection } from '../../../src/tools/mcp/connection';
import { readAnswer } from '../../../src/tools/mcp/result';
import { isAlive } from '../../support/process-worker';
import { scratchDirectory } from '../../support/scratch';
import { until } from '../../support/until';
import { act, always, connect, digestOf, hostile } from './support';

const scratch = scratchDirectory();
let connection: McpConnection;
let warnings: string[];

beforeEach(() => {
  ({ connection, warnings } = connect(hostile('Does as it is asked.', join(scratch(), 'effects'))));
});
afterEach(() => connection.close());

const effects = (): string[] => readFileSync(join(scratch(), 'effects'), 'utf8').trim().split('\n');
const read = (answer: unknown): string => readAnswer(answer, { server: 'hostile', tool: 'act' });
const failed = (calling: Promise<unknown>): Promise<unknown> =>
  calling.then(
    (answer) => {
      throw new Error(`it answered ${JSON.stringify(answer)}`);
    },
    (error: unknown) => error,
  );

it.each([
  ['echo', 'hello'],
  // Answered twice, for another id, and in a batch.
  ['twice', 'first'],
  ['others', 'own'],
  // After lines of a log on the same output.
  ['rubbish', 'after the rubbish'],
])('%s: the answer is the first one with the id of the request', async (how, expected) => {
  expect(read(await act(connection, how, { with: 'hello' }))).toBe(expected);
  expect(read(await act(connection, 'echo', { with: 'next' }))).toBe('next');
});

it('passes progress on', async () => {
  const said: unknown[] = [];
  await act(connection, 'progress', { onProgress: (progress) => said.push(progress) });
  expect(said).toEqual([{ progress: 1, total: 2, message: 'half' }]);
});

describe('the span in which a call is made', () => {
  const provider = new NodeTracerProvider();
  beforeAll(() => provider.register());
  afterAll(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  });
  const metaOf = async (): Promise<Record<string, unknown>> =>
    z.record(z.string(), z.unknown()).parse(JSON.parse(read(await act(connection, 'meta'))));

  it('goes to the server, beside what the protocol puts there', async () => {
    await trace.getTracer('test').startActiveSpan('call', async (span) => {
      const { traceId, spanId } = span.spanContext();
      expect(await metaOf()).toEqual({
        progressToken: expect.anything(),
        traceparent: `00-${traceId}-${spanId}-01`,
      });
      span.end();
    });
  });

  it('is not made up where there is none', async () => {
    expect(Object.keys(await metaOf())).toEqual(['progressToken']);
  });
});

it('says nothing to a server that asks for input', async () => {
  expect(read(await act(connection, 'ask'))).toContain('Method not found');
});

describe.each(['crash', 'flood', 'huge', 'broken'])('a server that answers with %s', (how) => {
  it('leaves it open whether the call took effect, and serves the next one', async () => {
    const error = await failed(act(connection, how));
    expect({
      isTransport: isTransportError(error),
      nothingSent: Reflect.get(Object(error), 'nothingSent'),
    }).toEqual({
      isTransport: true,
      nothingSent: false,
    });
    expect(read(await act(connection, 'echo', { with: 'again' }))).toBe('again');
    expect(effects()).toEqual([how, 'echo']);
  });
});

it('tells a request that was not taken up from one that broke, with code and details', async () => {
  const error = await failed(act(connection, 'wrong'));
  expect(error).toMatchObject({ nothingSent: true, retryable: false });
  expect(describeFailure(error)).toMatchObject({
    code: 'transport',
    message: expect.stringContaining('no such paper'),
    details: { server: 'hostile', code: -32602, data: { paper: 'A9' } },
  });
});

it('shows the last words of a server that ended, without its control characters', async () => {
  await failed(act(connection, 'crash'));
  expect(warnings.join('\n')).toContain('out of ink');
  expect(warnings.join('\n')).not.toContain('\u001b');
});

it('cancels a call at the server, and proves nothing then', async () => {
  const abort = new AbortController();
  const digest = await digestOf(connection, 'act');
  const calling = failed(act(connection, 'hang', { signal: abort.signal, digest }));
  await until('the call to arrive', () => effectsOrNone().includes('hang'));
  abort.abort(new Error('enough'));
  expect(provenBy(await calling)).toBeUndefined();
  await until('the cancellation', () => effectsOrNone().includes('cancelled'));
});

it('gives the answer of a call that was given up to nobody, and proves nothing by it', async () => {
  const abort = new AbortController();
  const digest = await digestOf(connection, 'act');
  const calling = failed(act(connection, 'late', { signal: abort.signal, digest }));
  await until('the call to arrive', () => effectsOrNone().includes('late'));
  abort.abort(new Error('enough'));
  expect(provenBy(await calling)).toBeUndefined();
  // It wrote its answer before.
  await until('the cancellation', () => effectsOrNone().includes('cancelled'));
  expect(read(await act(connection, 'echo', { with: 'next' }))).toBe('next');
});

it('ends a server that answers neither a call nor a ping, and sends later calls to a new one', async () => {
  const digest = await digestOf(connection, 'act');
  const pid = Number(read(await act(connection, 'pid', { digest })));
  const abort = new AbortController();
  const calling = failed(act(connection, 'spin', { signal: abort.signal, digest }));
  await until('the call to arrive', () => effectsOrNone().includes('spin'));
  abort.abort(new Error('enough'));
  expect(provenBy(await calling)).toBeUndefined();
  expect(read(await act(connection, 'echo', { with: 'next', digest }))).toBe('next');
  expect(effects()).toEqual(['pid', 'spin', 'echo']);
  expect(warnings.join()).toContain('does not answer a ping');
  await until('the end of the silent server', () => !isAlive(pid));
});

it('keeps a server that answers a ping, although it did not answer a call', async () => {
  const digest = await digestOf(connection, 'act');
  const pid = read(await act(connection, 'pid', { digest }));
  const abort = new AbortController();
  const calling = failed(act(connection, 'hang', { signal: abort.signal, digest }));
  await until('the call to arrive', () => effectsOrNone().includes('hang'));
  abort.abort(new Error('enough'));
  await calling;
  expect(read(await act(connection, 'pid', { digest }))).toBe(pid);
});

it('sends a call to the next start of a server that ended before the call was sent', async () => {
  const digest = await digestOf(connection, 'act');
  const pid = read(await act(connection, 'leaves', { digest }));
  const next = await until('another process to answer', async () => {
    const answer = read(await act(connection, 'pid', { digest }));
    return answer !== pid && answer;
  });
  expect(isAlive(Number(next))).toBe(true);
  expect(warnings.join()).toContain('has ended');
});

const effectsOrNone = (): string[] => {
  try {
    return effects();
  } catch {
    return [];
  }
};

it('sends nothing where the tool is not the one that was allowed', async () => {
  expect(await failed(act(connection, 'echo', { digest: 'another' }))).toMatchObject({ code: 'conflict' });
  expect(effectsOrNone()).toEqual([]);
});

it('refuses a tool that changed while the server runs, as soon as the server says so', async () => {
  const digest = await digestOf(connection, 'act');
  expect(read(await act(connection, 'change', { digest }))).toBe('changed');
  const later = await until('the notice', async () => {
    const error = await act(connection, 'echo', { digest }).catch((one: unknown) => one);
    return error instanceof Error && error;
  });
  expect(later).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('not the one that was allowed'),
  });
});

it('sends nothing once it was stopped', async () => {
  const digest = await digestOf(connection, 'act');
  const error = await failed(act(connection, 'echo', { digest, signal: AbortSignal.abort() }));
  expect(provenBy(error)).toBe('nothing_done');
  expect(effectsOrNone()).toEqual([]);
});

it('proves that nothing was sent where the program does not exist, and waits longer after each try', async () => {
  const { start, ...rest } = hostile();
  const missing = connect({
    ...rest,
    start: { ...start, kind: 'stdio', command: '/nowhere/server' } as typeof start,
  });
  const first = await failed(missing.connection.list(always()));
  expect(first).toBeInstanceOf(TransportError);
  expect(first).toMatchObject({ nothingSent: true, message: expect.stringContaining('no such program') });
});

it('waits for no server that hangs while it starts', async () => {
  const { start, ...rest } = hostile();
  const args = ['-e', 'setInterval(() => {}, 1000)'];
  const silent = connect({ ...rest, start: { ...start, kind: 'stdio', args } as typeof start });
  const abort = new AbortController();
  const listing = failed(silent.connection.list(abort.signal));
  abort.abort();
  expect(await listing).toMatchObject({ nothingSent: true, message: expect.stringContaining('in time') });
  await silent.connection.close();
  expect(await failed(silent.connection.list(always()))).toMatchObject({ nothingSent: true });
});

it.each([200, 215, 230, 245])(
  'shows no part of a secret in its last words, with %i letters before',
  async (before) => {
    const words = `'x'.repeat(${before}) + process.env.KEY + 'y'.repeat(1000)`;
    const start = {
      ...hostile().start,
      args: ['-e', `process.stderr.write(${words}, () => process.exit(1))`],
      env: { KEY: { secret: 'the long name of a key' } },
    };
    const { connection: ended, warnings: lines } = connect({ ...hostile(), start });
    const message = String(await failed(ended.list(always())));
    expect(message).toContain('it wrote: xxx');
    expect([message, ...lines].join('\n')).not.toContain('value of');
  },
);
