import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { think } from '../../../src/activities/think';
import type { ThinkOutput } from '../../../src/contract/think';
import { type Model, ModelError, type ModelReply, type ModelRequest } from '../../../src/models/model';
import { scriptedModel } from '../../../src/models/scripted';
import type { AgentOptions } from '../../../src/tools/define-agent';
import { workerWith } from '../fake-worker';

describe('asking a model', () => {
  const MINUTE = 60_000;

  type Ask = (attempt: number) => ModelReply | Promise<ModelReply>;
  type Outcome = { output?: ThinkOutput; failure?: ApplicationFailure; left: unknown };

  /** One attempt of the activity, with what the attempt before left in its heartbeat. */
  async function attempt(ask: Ask, options: Attempt = {}): Promise<Outcome> {
    const { number = 1, heartbeatDetails, limits = {}, results = [], more = {} } = options;
    const model: Model = { id: 'test/m', generate: async () => ask(number) };
    const deps = workerWith({ model, limits, ...more });
    const info = { attempt: number, heartbeatDetails, startToCloseTimeoutMs: 10 * MINUTE };
    const environment = new MockActivityEnvironment(info, { logger: deps.log });
    let left: unknown = heartbeatDetails;
    environment.on('heartbeat', (details: unknown) => {
      left = details;
    });
    const input = { agent: 'a', step: 1, words: ['go'], results, droppedBefore: 0 };
    try {
      return { output: await environment.run(() => think(deps, input)), left };
    } catch (error) {
      if (error instanceof ApplicationFailure) return { failure: error, left };
      throw error;
    }
  }

  interface Attempt {
    number?: number;
    heartbeatDetails?: unknown;
    limits?: AgentOptions['limits'];
    results?: [];
    more?: Partial<AgentOptions>;
  }

  /** Attempts as Temporal makes them, without the waits; `wait` is told each. Gives the last failure, or the output. */
  async function attempts(ask: Ask, limits: AgentOptions['limits'] = {}, more: Partial<AgentOptions> = {}) {
    const waits: number[] = [];
    let left: unknown;
    for (let number = 1; number < 1_000; number++) {
      const outcome = await attempt(ask, { number, heartbeatDetails: left, limits, more });
      left = outcome.left;
      const { failure } = outcome;
      if (failure === undefined || failure.nonRetryable === true) return { ...outcome, number, waits };
      waits.push(Number(failure.nextRetryDelay));
    }
    throw new Error('it is asked without end');
  }

  const fail = (kind: 'server' | 'rate_limit' | 'auth' | 'request', retryAfterMs?: number) => (): never => {
    const retryable = kind === 'server' || kind === 'rate_limit';
    throw new ModelError(kind, 'test/m: it broke', {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  };
  const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0);

  test('a model that is broken is asked with growing waits until modelRetryFor, and named', async () => {
    const { failure, number, waits } = await attempts(fail('server'));
    expect(failure?.message).toMatch(
      /^test\/m: it broke \(given up after \d+ attempts in 1?\d min; modelRetryFor is 10 min\)$/,
    );
    expect(sum(waits)).toBeLessThanOrEqual(10 * MINUTE);
    expect(sum(waits)).toBeGreaterThan(8 * MINUTE);
    expect(waits[0]).toBeLessThanOrEqual(1_250);
    expect(Math.max(...waits)).toBeLessThanOrEqual(75_000);
    expect(number).toBeLessThan(30);
  });

  test('the agent says for how long', async () => {
    const { waits } = await attempts(fail('server'), { modelRetryFor: '20s' });
    expect(sum(waits)).toBeLessThan(20_000);
    expect(waits.length).toBeGreaterThan(2);
  });

  test.each(['auth', 'request'] as const)('%s is not asked again', async (kind) => {
    expect(await attempts(fail(kind))).toMatchObject({ number: 1, failure: { message: 'test/m: it broke' } });
  });

  test('what the server asks to wait is waited', async () => {
    const { waits } = await attempts(fail('rate_limit', 2 * MINUTE));
    expect(waits).toEqual([2 * MINUTE, 2 * MINUTE, 2 * MINUTE, 2 * MINUTE]);
  });

  test('a wait that is longer than modelRetryFor is not begun', async () => {
    const { number, failure } = await attempts(fail('rate_limit', 60 * MINUTE));
    expect(number).toBe(1);
    expect(failure?.message).toContain('it asks to wait 60 min');
  });

  test('a model that never answers and does not look at its signal is left when its time is over', async () => {
    const { failure, waits } = await attempts(() => new Promise(() => {}), {
      modelTimeout: 50,
      modelRetryFor: '3s',
    });
    expect(waits.length).toBeGreaterThan(0);
    expect(failure?.message).toMatch(
      /^test\/m: the model did not answer in the \d+ ms that were left of its time \(given up after/,
    );
  });

  test('the last attempt has no more time than is left', async () => {
    const details = { failures: 3, spentMs: 10 * MINUTE - 80, empty: 0, emptySince: 0, lost: 0, open: false };
    const { failure } = await attempt(() => new Promise(() => {}), { number: 4, heartbeatDetails: details });
    expect(failure).toMatchObject({
      nonRetryable: true,
      message: expect.stringMatching(/did not answer in the \d\d ms/),
    });
  });

  test('any error names the model', async () => {
    const broken = () => {
      throw new TypeError('x is not a function');
    };
    expect((await attempt(broken)).failure).toMatchObject({
      message: 'test/m: x is not a function',
      type: 'countersign.model.unknown',
    });
  });

  const EMPTY: ModelReply = { text: '', toolCalls: [], finishReason: 'stop' };

  test('an empty reply before any tool ran is asked for three times, soon after one another', async () => {
    const { failure, number, waits } = await attempts(() => EMPTY);
    expect(number).toBe(3);
    expect(sum(waits)).toBeLessThan(15_000);
    expect(failure?.message).toBe('test/m: the model answered nothing (stop) (asked 3 times)');
  });

  test('a reply that ends its worker is not asked for without end', async () => {
    const gone = { failures: 0, spentMs: 0, empty: 0, emptySince: 0, lost: 9, open: true };
    const { failure } = await attempt(() => EMPTY, { number: 11, heartbeatDetails: gone });
    expect(failure).toMatchObject({
      nonRetryable: true,
      message: 'test/m: 10 workers ended while they asked the model',
    });
  });

  describe('with a fallback', () => {
    const HI: ModelReply = { text: 'hi', toolCalls: [], finishReason: 'stop' };
    const second: Model = { id: 'test/second', generate: async () => HI };
    const third: Model = { id: 'test/third', generate: async () => ({ ...HI, text: 'third' }) };
    const broken: Model = { id: 'test/broken', generate: async () => fail('server')() };

    test('a model that is busy is asked for as long as `modelRetryFor`, then the next one, which is named', async () => {
      const { output, waits } = await attempts(
        fail('server'),
        { modelRetryFor: '20s' },
        { fallback: [second] },
      );
      expect(output).toMatchObject({ text: 'hi', model: 'test/second', notes: ['fallback'] });
      expect(waits.length).toBeGreaterThan(3);
      expect(waits.at(-1)).toBe(1);
    });

    test('what failed attempts used counts', async () => {
      const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11 };
      const empty: ModelReply = { text: '', toolCalls: [], finishReason: 'stop', usage };
      const { output } = await attempts((number) => (number === 1 ? empty : { ...HI, usage }));
      expect(output?.usage).toEqual({ inputTokens: 20, outputTokens: 2, totalTokens: 22 });
      expect((await attempts(() => empty, {}, { fallback: [second] })).output?.usage).toMatchObject({
        totalTokens: 33,
      });
    });

    test('`after: 0` asks the next one at once, and the failure says so', async () => {
      const fallback = { models: [second], after: 0 };
      const { failure, left } = await attempt(fail('rate_limit', 5000), { more: { fallback } });
      expect(failure).toMatchObject({
        nonRetryable: false,
        type: 'countersign.model.rate_limit',
        message: 'test/m: it broke (test/second is asked next)',
      });
      expect(left).toMatchObject({ at: 1, failures: 0, spentMs: 0 });
    });

    test('each has its own time, in order, and the last one ends the turn', async () => {
      const fallback = { models: [broken, third], after: 0 };
      expect((await attempts(fail('server'), {}, { fallback })).output?.model).toBe('test/third');
      const last = await attempts(fail('server'), {}, { fallback: { models: [broken], after: 0 } });
      expect(last.failure).toMatchObject({
        nonRetryable: true,
        message: expect.stringMatching(/given up after/),
      });
    });

    test.each([
      ['auth', undefined, 'no'],
      ['request', undefined, 'no'],
      ['auth', ['auth'], 'test/second'],
      ['server', ['auth'], 'no'],
    ] as const)('%s with on: %j asks %s next', async (kind, on, next) => {
      const fallback = { models: [second], after: 0, ...(on && { on }) };
      const { output } = await attempts(fail(kind), { modelRetryFor: '2s' }, { fallback });
      expect(output?.model ?? 'no').toBe(next);
    });

    test('a place that this worker does not have is the first', async () => {
      const details = { failures: 0, spentMs: 0, empty: 0, emptySince: 0, lost: 0, open: false, at: 7 };
      const { output } = await attempt(() => HI, { number: 2, heartbeatDetails: details });
      expect(output?.model).toBe('test/m');
    });
  });

  describe('with an `output`', () => {
    const output = z.object({ total: z.number().min(1) });
    const said = (text: string): ModelReply => ({
      text,
      toolCalls: [],
      finishReason: 'stop',
      usage: { totalTokens: 5 },
    });

    test.each([
      ['JSON', '{"total": 3}'],
      ['JSON as Markdown', '```json\n{"total": 3}\n```'],
    ])('an answer that fits is a value too: %s', async (_, text) => {
      const { output: step } = await attempt(() => said(text), { more: { output } });
      expect(step).toMatchObject({ text, value: { total: 3 }, usage: { totalTokens: 5 } });
    });

    test('one that does not fit is given back once, with what is wrong', async () => {
      const seen: ModelRequest[] = [];
      const model = scriptedModel([
        { text: '{"total": 0}', usage: { totalTokens: 5 } },
        (request) => {
          seen.push(request);
          return { text: '{"total": 4}', usage: { totalTokens: 7 } };
        },
      ]);
      const { output: step } = await attempt(() => said(''), { more: { output, model } });
      expect(step).toMatchObject({ value: { total: 4 }, usage: { totalTokens: 12 } });
      expect(seen[0]?.instructions).toContain('"minimum":1');
      expect(seen[0]?.messages.slice(1)).toMatchObject([
        { role: 'assistant', content: '{"total": 0}' },
        { role: 'user', content: expect.stringMatching(/does not fit its schema: \/total/) },
      ]);
    });

    test.each(['no JSON', '[1]', 'null', '"x"', '{"total": "3"}', '{"total": 3, "more": 1}', '```'])(
      'twice %j ends the turn with words',
      async (text) => {
        const { failure } = await attempt(() => said(text), { more: { output } });
        expect(failure).toMatchObject({
          nonRetryable: true,
          message: expect.stringMatching(/^test\/m: the answer is wrong a second time: The answer /),
        });
      },
    );

    test('a reply with calls is not looked at', async () => {
      const calls = { ...said('let me look'), toolCalls: [{ name: 'look', arguments: '{}' }] };
      const { output: step } = await attempt(() => calls, { more: { output } });
      expect(step).not.toHaveProperty('value', expect.anything());
    });
  });

  describe('what a provider wants back', () => {
    const reply = { text: 'hi', toolCalls: [], finishReason: 'stop' };

    test.each([
      ['is recorded', 'x'.repeat(1000), 1000],
      ['is left out where it is too long', 'x'.repeat(200_000), undefined],
    ])('%s', async (_, opaque, length) => {
      const { output } = await attempt(() => ({ ...reply, opaque }));
      expect(output?.opaque?.length).toBe(length);
    });
  });

  test.each([undefined, null, 'text', { failures: 'many' }])(
    'what another version left, %j, counts as nothing',
    async (heartbeatDetails) => {
      const { failure } = await attempt(fail('server'), { number: 5, heartbeatDetails });
      expect(failure).toMatchObject({ nonRetryable: false });
    },
  );
});
