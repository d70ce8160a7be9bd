import fc from 'fast-check';
import { z } from 'zod';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../src/contract/json';
import type { Approve } from '../../src/tools/function-policy';
import { createCallLog } from '../../src/tools/call-log';
import { createExecutor, type RunDeps, runJob, sharedState, type RunJob } from '../../src/tools/executor';
import { nothingDone, stopped, ToolError, TransportError } from '../../src/tools/errors';
import { createRegistry } from '../../src/tools/registry';
import type { CallContext, Tool } from '../../src/tools/types';
import { gate, keepLines, makeTool } from './support';

const parameters = z.object({ text: z.string().min(1), times: z.int().default(1) });

/** A tool that counts: whether a handler ran is the thing to know. */
function counted(options: Parameters<typeof makeTool>[0] = {}): Tool & { runs: JsonObject[] } {
  const runs: JsonObject[] = [];
  const tool = makeTool({
    parameters,
    handler: (args) => {
      runs.push(z.record(z.string(), z.json()).parse(args));
      return 'done';
    },
    ...options,
  });
  return { ...tool, runs };
}

function executorOf(tools: Tool[], deps: Partial<Parameters<typeof createExecutor>[0]> = {}) {
  return createExecutor({ registry: createRegistry(tools), ...deps });
}

const call = { id: 'abc', name: 'echo', arguments: '{"text":"a"}' };

describe('execute', () => {
  it('runs a safe call with its defaults', async () => {
    const tool = counted();
    const result = await executorOf([tool]).execute(call);
    expect(tool.runs).toEqual([{ text: 'a', times: 1 }]);
    expect(result).toEqual({
      id: 'abc',
      callId: 'abc',
      tool: 'echo',
      server: 'local',
      arguments: { text: 'a', times: 1 },
      success: true,
      content: 'done',
      contentType: 'text',
      metadata: {
        execution_time_ms: expect.any(Number),
        safety_level: 'safe',
        approved: false,
        attempt: 1,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
  });

  it('takes an object too, and makes up an id', async () => {
    const result = await executorOf([counted()]).execute({ name: 'echo', arguments: { text: 'a' } });
    expect(result).toMatchObject({ success: true, id: expect.stringMatching(/^call_/) });
  });

  it.each<[string, { name?: string; arguments?: string | JsonObject }, string, RegExp]>([
    ['an unknown tool', { name: 'ehco' }, 'tool_not_found', /no tool "ehco".*There are: echo/],
    ['no name', { name: '' }, 'tool_not_found', /no tool ""/],
    ['a name of Object', { name: 'constructor' }, 'tool_not_found', /no tool/],
    ['text that is no JSON', { arguments: '{text' }, 'validation', /not JSON/],
    [
      'duplicate keys',
      { arguments: '{"text":"a","text":"b"}' },
      'validation',
      /\/text: this key is there twice/,
    ],
    ['a missing argument', { arguments: '{}' }, 'validation', /text/],
    ['an argument of another type', { arguments: { text: 7 } }, 'validation', /\/text/],
    ['an object over the limit', { arguments: { text: 'a'.repeat(200_000) } }, 'validation', /bytes/],
  ])('%s is an error result and nothing runs', async (...[, changes, code, content]) => {
    const tool = counted();
    const result = await executorOf([tool]).execute({ ...call, ...changes });
    expect(result).toMatchObject({ id: 'abc', success: false, error: { code } });
    expect(result.content).toMatch(content);
    expect(result.content.startsWith(`Error [${code}]: `)).toBe(true);
    expect(tool.runs).toEqual([]);
  });

  it('never rejects, whatever it is given', async () => {
    const { execute } = executorOf([counted()]);
    const given = fc.record(
      { id: fc.anything(), name: fc.anything(), arguments: fc.anything() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(given, async (odd) => {
        const result = await Reflect.apply(execute, undefined, [odd]);
        expect(result).toMatchObject({
          id: expect.any(String),
          tool: expect.any(String),
          content: expect.any(String),
        });
        expect(result.success).toBe(result.error === undefined);
      }),
      { examples: [[{ name: { toString: [] } }], [{ id: { toString: [] }, name: null }]] },
    );
  });

  it('never rejects, whatever a handler throws or returns', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything(),
        fc.boolean(),
        fc.string({ minLength: 1 }),
        async (value, throws, id) => {
          const tool = makeTool({
            handler: () => {
              if (throws) throw value;
              return value;
            },
          });
          const result = await executorOf([tool]).execute({ id, name: 'echo', arguments: '' });
          expect(result).toMatchObject({ id, success: !throws, content: expect.any(String) });
          expect(result.error?.code).toBe(throws ? 'tool' : undefined);
        },
      ),
    );
  });

  it('times out by the call', async () => {
    const tool = makeTool({
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
    const result = await executorOf([tool]).execute({ name: 'echo', arguments: {} }, { timeoutMs: 5 });
    expect(result).toMatchObject({
      success: false,
      error: { code: 'timeout', message: 'timed out after 5 ms' },
    });
  });
});

describe('dangerous calls', () => {
  it.each<[string, unknown, string | undefined, RegExp]>([
    ['approved', { decision: 'approved' }, undefined, /^done$/],
    [
      'denied',
      { decision: 'denied', reason: 'not today' },
      'denied',
      /denied this call: not today\. Nothing ran/,
    ],
    ['denied without a reason', { decision: 'denied' }, 'denied', /no reason was given/],
    ['nothing', undefined, 'denied', /could not be understood/],
    ['true', true, 'denied', /could not be understood/],
    ['another word', { decision: 'yes' }, 'denied', /could not be understood/],
    ['modified without arguments', { decision: 'modified' }, 'denied', /could not be understood/],
    [
      'modified into what does not fit',
      { decision: 'modified', arguments: { text: 1 } },
      'validation',
      /\/text/,
    ],
  ])('answer: %s', async (...[, answer, code, content]) => {
    const tool = counted({ safety: 'dangerous' });
    const approve: Approve = jest.fn().mockReturnValue(answer);
    const result = await executorOf([tool]).execute(call, { approve });
    expect(result.error?.code).toBe(code);
    expect(result.content).toMatch(content);
    expect(tool.runs).toHaveLength(code === undefined ? 1 : 0);
    expect(result.metadata.approved).toBe(code === undefined);
  });

  it('without approve is denied', async () => {
    const tool = counted({ safety: 'dangerous' });
    expect(await executorOf([tool]).execute(call)).toMatchObject({ error: { code: 'denied' } });
    expect(tool.runs).toEqual([]);
  });

  it('a throw is a denial that does not tell what was thrown', async () => {
    const tool = counted({ safety: 'dangerous' });
    const approve = (): never => {
      throw new Error('password=hunter2');
    };
    const result = await executorOf([tool]).execute(call, { approve });
    expect(result).toMatchObject({ error: { code: 'denied' } });
    expect(JSON.stringify(result)).not.toContain('hunter2');
    expect(tool.runs).toEqual([]);
  });

  it('modified arguments run, validated and with defaults, and the model learns it', async () => {
    const tool = counted({ safety: 'dangerous' });
    const result = await executorOf([tool]).execute(call, {
      approve: () => ({ decision: 'modified', arguments: { text: 'b' }, reason: 'better' }),
    });
    expect(tool.runs).toEqual([{ text: 'b', times: 1 }]);
    expect(result).toMatchObject({
      success: true,
      arguments: { text: 'b', times: 1 },
      metadata: { approved: true },
    });
    expect(result.content).toMatch(/A person changed .*"text":"b".*Reason: better.*\n\ndone$/s);
  });

  it('what approve does to its arguments changes nothing', async () => {
    const tool = counted({ safety: 'dangerous' });
    await executorOf([tool]).execute(call, {
      approve: (_, args) => {
        args['text'] = 'evil';
        return { decision: 'approved' };
      },
    });
    expect(tool.runs).toEqual([{ text: 'a', times: 1 }]);
  });

  it('waiting for an approval ends with the signal', async () => {
    const tool = counted({ safety: 'dangerous' });
    const abort = new AbortController();
    const { opened, open } = gate<void>();
    const running = executorOf([tool]).execute(call, {
      signal: abort.signal,
      approve: () => {
        open();
        return new Promise(() => undefined);
      },
    });
    await opened;
    abort.abort();
    expect(await running).toMatchObject({
      error: { code: 'cancelled', message: expect.stringContaining('nothing ran') },
    });
    expect(tool.runs).toEqual([]);
  });
});

describe('policy', () => {
  it('refuses, and asks again about changed arguments', async () => {
    const tool = counted({ safety: 'dangerous' });
    const executor = executorOf([tool], {
      agent: 'clerk',
      policy: ({ agent, arguments: args }) =>
        args['text'] === 'b' ? { decision: 'refuse', reason: `${agent} must not say b` } : 'run',
    });
    const approve = () => ({ decision: 'modified' as const, arguments: { text: 'b' } });
    const result = await executor.execute(call, { approve });
    expect(result).toMatchObject({ error: { code: 'refused' } });
    expect(result.content).toContain('clerk must not say b');
    expect(tool.runs).toEqual([]);
  });

  it('may ask about a safe call', async () => {
    const tool = counted();
    const executor = executorOf([tool], { policy: () => 'ask' });
    expect(await executor.execute(call)).toMatchObject({ error: { code: 'denied' } });
    expect(await executor.execute(call, { approve: () => ({ decision: 'approved' }) })).toMatchObject({
      success: true,
    });
  });

  it('what it threw goes to the log and not to the model', async () => {
    const logger = keepLines();
    const policy = (): never => {
      throw new Error('database gone');
    };
    const executor = executorOf([counted()], { policy, log: createCallLog(logger) });
    expect((await executor.execute(call)).content).not.toContain('database');
    expect(logger.lines).toContain('the policy failed on echo: database gone');
  });
});

describe('executeBatch', () => {
  const batch = ['a', 'b', 'c'].map((text) => ({ id: text, name: 'echo', arguments: { text } }));

  it('runs one after another, in order', async () => {
    const order: string[] = [];
    const tool = makeTool({
      handler: async () => {
        order.push('start');
        await new Promise(setImmediate);
        order.push('end');
      },
      parameters: z.object({ text: z.string() }),
    });
    const results = await executorOf([tool]).executeBatch(batch);
    expect(order).toEqual(['start', 'end', 'start', 'end', 'start', 'end']);
    expect(results.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('runs all at once on request, and keeps the order of results', async () => {
    const { opened, open } = gate();
    let started = 0;
    const tool = makeTool({
      parameters: z.object({ text: z.string() }),
      handler: async ({ text }) => {
        if (++started === 3) open();
        await opened;
        return text;
      },
    });
    const results = await executorOf([tool]).executeBatch(batch, { parallel: true });
    expect(results.map(({ content }) => content)).toEqual(['a', 'b', 'c']);
  });

  it('one that fails holds up nobody', async () => {
    const results = await executorOf([counted()]).executeBatch([{ name: 'no', arguments: '' }, call]);
    expect(results.map(({ success }) => success)).toEqual([false, true]);
  });

  it('gives each result an id of its own', async () => {
    const results = await executorOf([counted()]).executeBatch([call, call, { ...call, id: '' }]);
    expect(results.map(({ id }) => id)).toEqual(['abc', 'call_2', 'call_3']);
  });

  it('starts nothing after the signal aborted', async () => {
    const abort = new AbortController();
    const tool = counted();
    const stopping = makeTool({ name: 'stop', handler: () => abort.abort() });
    const calls = [{ name: 'stop', arguments: '' }, ...batch];
    const results = await executorOf([tool, stopping]).executeBatch(calls, { signal: abort.signal });
    expect(results.map(({ error }) => error?.code)).toEqual([undefined, ...Array(3).fill('cancelled')]);
    expect(results[0]).toMatchObject({ success: true, metadata: { late: true } });
    expect(
      results.map(({ error }) => error?.message).filter((text) => text?.includes('nothing ran')),
    ).toHaveLength(3);
    expect(tool.runs).toEqual([]);
  });

  it('is empty for nothing', async () => {
    expect(await executorOf([]).executeBatch([])).toEqual([]);
  });
});

describe('log and results', () => {
  it('secrets are redacted in the log and kept in the result', async () => {
    const logger = keepLines();
    const tool = makeTool({
      parameters: z.object({ password: z.string() }),
      handler: () => 'password=hunter2',
    });
    const result = await executorOf([tool], { log: createCallLog(logger) }).execute({
      name: 'echo',
      arguments: { password: 'hunter2' },
    });
    expect(result.content).toBe('password=hunter2');
    expect(logger.lines).toHaveLength(2);
    expect(logger.lines.join()).not.toContain('hunter2');
  });

  it('a call that never ran is logged too', async () => {
    const logger = keepLines();
    await executorOf([], { log: createCallLog(logger) }).execute(call);
    expect(logger.lines).toEqual([
      'TOOL_CALL tool=echo args={"text":"a"}',
      'TOOL_FAILED tool=echo duration=0ms error=[tool_not_found] There is no tool "echo". There are no tools.',
    ]);
  });

  it('output is cut to the limit of the tool', async () => {
    const tool = makeTool({ outputLimit: 200, handler: () => 'x'.repeat(1000) });
    const { content } = await executorOf([tool]).execute({ name: 'echo', arguments: '' });
    expect(content.length).toBeLessThanOrEqual(200);
    expect(content).toContain('bytes left out');
  });

  it('what a handler does to its arguments reaches neither the result nor the next call', async () => {
    const parameters = { type: 'object', properties: { list: { type: 'array', items: {}, default: ['a'] } } };
    const handler = (args: JsonObject) => (Array.isArray(args['list']) ? args['list'].push('b') : 0);
    const executor = executorOf([makeTool({ parameters, handler })]);
    for (const id of ['1', '2']) {
      const result = await executor.execute({ id, name: 'echo', arguments: '' });
      expect(result).toMatchObject({ content: '2', arguments: { list: ['a'] } });
    }
  });

  it('details of a ToolError reach the result', async () => {
    const tool = makeTool({
      handler: () => {
        throw new ToolError('gone', { details: { path: 'a' }, code: 'conflict' });
      },
    });
    expect(await executorOf([tool]).execute({ name: 'echo', arguments: '' })).toMatchObject({
      error: { code: 'conflict', message: 'gone', details: { path: 'a' } },
    });
  });
});

function jobOf(tool: Tool, changes: Partial<RunJob> = {}): RunJob {
  return {
    tool,
    value: { text: 'a' },
    call: { callId: '1.1', id: 'abc', arguments: { text: 'a' } },
    approved: true,
    attempt: 2,
    idempotencyKey: 'key:0',
    ...changes,
  };
}

const run = (handler: Tool['handle'], changes: Partial<RunJob> = {}, deps: RunDeps = {}) =>
  runJob(jobOf(makeTool({ handler, timeout: 60_000 }), changes), deps);

/** The same on a clock that is put forward by a minute: past every timeout, and past how long an end or a hook is waited for. */
const runForAMinute = async (...args: Parameters<typeof run>) => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
  try {
    const answer = run(...args);
    await jest.advanceTimersByTimeAsync(60_000);
    return await answer;
  } finally {
    jest.useRealTimers();
  }
};

const untilAborted = ({ signal }: CallContext): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

it('gives the handler what it needs', async () => {
  const plan = { path: 'a', baseHash: null, targetHash: 'b', encoding: 'utf8', hunks: [] } as const;
  let seen: unknown;
  const { result } = await run(
    async (value, { signal, partial, progress, checkpoint, log, secrets, ...rest }) => {
      expect([progress, checkpoint, log.info, secrets.get].map((one) => typeof one)).toEqual(
        Array.from({ length: 4 }, () => 'function'),
      );
      seen = { value, ...rest, aborted: signal.aborted, partial: typeof partial };
    },
    { plan: { ...plan, hunks: [] }, hunks: ['1'], ranBefore: true },
  );
  expect(seen).toEqual({
    value: { text: 'a' },
    callId: '1.1',
    tool: 'echo',
    idempotencyKey: 'key:0',
    attempt: 2,
    ranBefore: true,
    agent: '',
    metadata: {},
    plan,
    hunks: ['1'],
    aborted: false,
    partial: 'function',
  });
  expect(result).toMatchObject({
    id: 'abc',
    callId: '1.1',
    content: 'null',
    metadata: { approved: true, attempt: 2 },
  });
});

const unreadable = (): Error => {
  const error = new Error('x');
  for (const name of ['stack', 'message', 'name']) {
    Object.defineProperty(error, name, {
      get() {
        throw new Error('no');
      },
    });
  }
  return error;
};

function circle(): Error {
  const error = new Error('a');
  error.cause = new Error('b', { cause: error });
  return error;
}

function hostile(): object {
  const fail = (): never => {
    throw new Error('no');
  };
  return new Proxy(new Error('x'), { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail });
}

describe('what is thrown', () => {
  it.each<[string, unknown, object, object]>([
    [
      'an error',
      new Error('no'),
      { code: 'tool', message: 'no', stack: expect.stringContaining('Error: no') },
      {},
    ],
    ['text', 'no', { code: 'tool', message: 'no' }, {}],
    ['nothing', undefined, { code: 'tool', message: 'undefined' }, {}],
    ['an object', { a: 1 }, { code: 'tool', message: '{\n  "a": 1\n}' }, {}],
    ['an empty message', new Error(''), { code: 'tool', message: 'it failed without a message' }, {}],
    [
      'an error that cannot be read',
      unreadable(),
      { code: 'tool', message: 'it failed without a message' },
      {},
    ],
    ['a ToolError', new ToolError('no'), { code: 'tool', message: 'no' }, {}],
    ['a ToolError to retry', new ToolError('no', { retryable: true }), { code: 'tool' }, { retryable: true }],
    ['a conflict', new ToolError('no', { code: 'conflict' }), { code: 'conflict' }, {}],
    [
      'a ToolError with details',
      new ToolError('no', { details: [1, { a: null }] }),
      { code: 'tool', details: [1, { a: null }] },
      {},
    ],
    [
      'a TransportError',
      new TransportError('cut'),
      { code: 'transport' },
      { retryable: true, outcomeKnown: false },
    ],
    [
      'a TransportError before anything was sent',
      new TransportError('cut', { nothingSent: true }),
      { code: 'transport', message: 'cut' },
      { retryable: true },
    ],
  ])('%s', async (...[, thrown, error, outcome]) => {
    const answer = await run(() => Promise.reject(thrown));
    expect(answer).toMatchObject({ retryable: false, outcomeKnown: true, ...outcome });
    expect(answer.result).toMatchObject({ success: false, error });
    expect(answer.result.content).toContain(answer.result.error?.message);
  });

  const codeError = (code: string): Error => Object.assign(new Error('no'), { code });
  it.each<[string, unknown]>([
    ['an AbortError', new DOMException('aborted', 'AbortError')],
    ["a handler's own TimeoutError", new DOMException('too slow', 'TimeoutError')],
    ['a fetch that failed', new TypeError('fetch failed')],
    ['a body that broke off', new TypeError('terminated')],
    ['ECONNRESET', codeError('ECONNRESET')],
    ['EPIPE', codeError('EPIPE')],
    ['an error of undici', codeError('UND_ERR_HEADERS_TIMEOUT')],
    ['a ToolError that such an error caused', new ToolError('bank', { cause: codeError('UND_ERR_SOCKET') })],
    ['one of several causes', new AggregateError([new Error('a'), codeError('ETIMEDOUT')])],
    [
      'a cause far down',
      [...Array(20)].reduce((cause: unknown) => new Error('x', { cause }), codeError('EPIPE')),
    ],
    [
      'more causes than are read',
      [...Array(500)].reduce((cause: unknown) => new Error('x', { cause }), undefined),
    ],
  ])('%s does not tell whether the call took effect', async (_, thrown) => {
    const handler = (): Promise<never> => Promise.reject(thrown);
    const { result, ...outcome } = await runJob(jobOf(makeTool({ handler, safety: 'cautious' })), {});
    expect(outcome).toEqual({ retryable: false, outcomeKnown: false, handler: 'ended' });
    expect(result.error?.message).toContain('whether it took effect is not known');
  });

  it.each<[string, unknown]>([
    ['a connection that was never made', codeError('ECONNREFUSED')],
    ['a name that is not there', codeError('ENOTFOUND')],
    ['a TypeError of the handler', new TypeError('x is not a function')],
    ['a proof that nothing was done', nothingDone('closed', { cause: codeError('ECONNRESET') })],
    ['causes that go in a circle', circle()],
    ['a proxy that throws at every look', hostile()],
  ])('%s is an outcome', async (_, thrown) => {
    expect(await run(() => Promise.reject(thrown))).toMatchObject({ outcomeKnown: true });
  });

  it('is cut where it is huge', async () => {
    const error = new ToolError('x'.repeat(10_000_000), { details: 'y'.repeat(10_000_000) });
    const { result } = await run(() => Promise.reject(error));
    expect(JSON.stringify(result).length).toBeLessThan(64 * 1024);
    const deep = new Error('x'.repeat(10_000_000));
    expect(JSON.stringify((await run(() => Promise.reject(deep))).result).length).toBeLessThan(64 * 1024);
  });

  it('an error of another copy of the package counts as the same', async () => {
    const other = Object.assign(new Error('cut'), {
      [Symbol.for('countersign.TransportError')]: true,
      nothingSent: true,
      retryable: true,
    });
    expect(await run(() => Promise.reject(other))).toMatchObject({ retryable: true, outcomeKnown: true });
  });
});

describe('time and cancellation', () => {
  it('ends at the timeout with partial output', async () => {
    const answer = await run(
      async (_, context) => {
        context.partial('one\n');
        context.partial('two\n');
        await untilAborted(context);
        context.signal.throwIfAborted();
      },
      { timeoutMs: 5 },
    );
    expect(answer).toMatchObject({ retryable: false, result: { error: { code: 'timeout' } } });
    expect(answer.result.content).toBe('Error [timeout]: timed out after 5 ms\nPartial output:\none\ntwo\n');
  });

  const aborted = (context: CallContext): unknown => context.signal.reason;
  it.each<[string, (context: CallContext) => unknown, boolean, string]>([
    ['the reason it was aborted with', aborted, false, 'timed out after 5 ms'],
    ['an error of its own', () => new Error('stopped'), false, 'timed out after 5 ms'],
    ['a ToolError', () => new ToolError('no'), false, 'timed out after 5 ms; no'],
    ['a TransportError', () => new TransportError('closed'), false, 'timed out after 5 ms; closed'],
    [
      'a TransportError that sent nothing',
      () => new TransportError('closed', { nothingSent: true }),
      false,
      'timed out after 5 ms; closed',
    ],
    [
      'the proof that nothing was done',
      (context) => nothingDone('still in the queue', { cause: context.signal.reason }),
      true,
      'timed out after 5 ms; nothing was done; still in the queue',
    ],
    [
      'the proof that it ended for good',
      () => stopped('killed'),
      true,
      'timed out after 5 ms; it was stopped, and a part of its work may be done; killed',
    ],
  ])('judges a handler that throws %s once it is aborted', async (...[, thrown, known, message]) => {
    const handler = async (_: unknown, context: CallContext): Promise<never> => {
      await untilAborted(context);
      throw thrown(context);
    };
    const answer = await run(handler, { timeoutMs: 5 });
    expect(answer).toMatchObject({ outcomeKnown: known, result: { error: { code: 'timeout', message } } });
  });

  it('says of an unsafe tool that nobody knows whether it took effect', async () => {
    const handler = (_: unknown, context: CallContext) =>
      untilAborted(context).then(() => Promise.reject(new Error('x')));
    const { result } = await runJob(jobOf(makeTool({ handler, safety: 'dangerous' }), { timeoutMs: 5 }), {});
    expect(result.error?.message).toBe('timed out after 5 ms; whether it took effect is not known');
  });

  it.each<[string, () => Partial<RunJob>]>([
    ['its time was over', () => ({ timeoutMs: 5 })],
    ['it was asked to stop', () => ({ signal: AbortSignal.timeout(5) })],
  ])('takes what a handler returns after %s for a success that was late', async (after, changes) => {
    const answer = await run(async (__, context) => {
      await untilAborted(context);
      return { refunded: true };
    }, changes());
    expect(answer).toMatchObject({
      outcomeKnown: true,
      result: { success: true, contentType: 'text', metadata: { late: true } },
    });
    expect(answer.result.error).toBeUndefined();
    expect(answer.result.content).toBe(
      `[Late: this call succeeded, but only after ${after}.]\n\n{\n  "refunded": true\n}`,
    );
  });

  it('leaves a handler that does not stop, and reports how it ended after all', async () => {
    const { opened, open } = gate<string>();
    const late = gate<unknown>();
    const answer = await runForAMinute(() => opened, { timeoutMs: 5, onLate: (result) => late.open(result) });
    expect(answer).toMatchObject({
      outcomeKnown: false,
      handler: 'running',
      result: { error: { code: 'timeout' } },
    });
    open('done after all');
    expect(await late.opened).toMatchObject({
      success: true,
      callId: '1.1',
      content: expect.stringMatching(/^\[Late: [^]*\]\n\ndone after all$/),
      metadata: { late: true },
    });
  });

  it.each<[string, unknown, object | undefined]>([
    ['is not reported where it says nothing', new Error('aborted'), undefined],
    ['is not reported where the way broke', new TransportError('cut', { nothingSent: true }), undefined],
    ['is reported where nothing was done', nothingDone('x'), { success: false, error: { code: 'timeout' } }],
    ['is reported where it ended for good', stopped('x'), { success: false, error: { code: 'timeout' } }],
  ])('a late throw %s', async (_, error, reported) => {
    const { opened, open } = gate();
    const results: unknown[] = [];
    const handler = async (): Promise<never> => {
      await opened;
      throw error;
    };
    await runForAMinute(handler, { timeoutMs: 5, onLate: (result) => results.push(result) });
    open();
    await new Promise(setImmediate);
    expect(results).toEqual(reported === undefined ? [] : [expect.objectContaining({ callId: '1.1' })]);
    if (reported !== undefined) expect(results[0]).toMatchObject(reported);
  });

  it('a late proof comes with all that was given until then', async () => {
    const { opened, open } = gate();
    const late = gate<{ content: string }>();
    const handler = async (_: unknown, { partial }: CallContext): Promise<never> => {
      await opened;
      partial('the last line');
      throw stopped('killed');
    };
    await runForAMinute(handler, { timeoutMs: 5, onLate: (result) => late.open(result) });
    open();
    expect((await late.opened).content).toContain('the last line');
  });

  it('a late end that throws, or a report that does, harms nobody', async () => {
    const logger = keepLines();
    const { opened, open } = gate();
    const reported = gate();
    const onLate = (): never => {
      reported.open();
      throw new Error('nobody there');
    };
    const handler = () => opened.then(() => Promise.reject(stopped('late')));
    await runForAMinute(handler, { timeoutMs: 5, onLate }, { log: createCallLog(logger) });
    open();
    await reported.opened;
    await new Promise(setImmediate);
    expect(logger.lines).toContain('a late outcome could not be reported: nobody there');
  });

  it('is cancelled by the signal', async () => {
    const abort = new AbortController();
    const answer = await run(
      async (_, context) => {
        context.partial('half');
        const stopped = untilAborted(context);
        abort.abort(new Error('turn cancelled'));
        await stopped;
        throw context.signal.reason;
      },
      { signal: abort.signal },
    );
    expect(answer).toMatchObject({ outcomeKnown: false, result: { error: { code: 'cancelled' } } });
    expect(answer.result.content).toContain('half');
  });

  it('does not start once it is cancelled', async () => {
    let started = false;
    const answer = await run(
      async () => {
        started = true;
      },
      { signal: AbortSignal.abort() },
    );
    expect(answer).toMatchObject({ outcomeKnown: true, result: { error: { code: 'cancelled' } } });
    expect(started).toBe(false);
  });

  it.each([0, -1, Number.NaN])("a timeout of %p is the tool's own", async (timeoutMs) => {
    expect(await run(async () => 'ok', { timeoutMs })).toMatchObject({ result: { content: 'ok' } });
  });

  it.each([1e12, Number.POSITIVE_INFINITY])('a timeout of %p does not fire at once', async (timeoutMs) => {
    const answer = await run(() => new Promise((resolve) => setImmediate(resolve, 'ok')), { timeoutMs });
    expect(answer).toMatchObject({ result: { content: 'ok' } });
  });
});

describe('hooks', () => {
  it('run before, and after a success or a failure', async () => {
    const seen: unknown[] = [];
    const hooks = {
      before: (event: object) => seen.push(['before', event]),
      after: async (event: { result: { content: string } }) => seen.push(['after', event.result.content]),
      onError: (event: { result: { content: string } }) => seen.push(['onError', event.result.content]),
    };
    await run(async () => 'fine', {}, { hooks });
    await run(() => Promise.reject(new Error('no')), {}, { hooks });
    const before = ['before', { tool: 'echo', callId: '1.1', arguments: { text: 'a' } }];
    expect(seen).toEqual([before, ['after', 'fine'], before, ['onError', 'Error [tool]: no']]);
  });

  it.each(['before', 'after'])('one that throws %s is warned about and changes nothing', async (name) => {
    const logger = keepLines();
    const fail = (): never => {
      throw new Error('store is full');
    };
    const hooks =
      name === 'before' ? { before: fail } : { after: () => Promise.reject(new Error('store is full')) };
    const { result } = await run(async () => 'fine', {}, { hooks, log: createCallLog(logger) });
    expect(result).toMatchObject({ success: true, content: 'fine' });
    expect(logger.lines).toContain(`hook ${name} failed: store is full`);
  });

  it('one that never ends never holds anything up', async () => {
    const logger = keepLines();
    const hooks = { after: () => new Promise(() => undefined) };
    const { result } = await runForAMinute(async () => 'fine', {}, { hooks, log: createCallLog(logger) });
    expect(result.success).toBe(true);
    expect(logger.lines.at(-1)).toMatch(/^hook after took longer/);
  });

  it('get copies: what they do to an event reaches nothing', async () => {
    const job = { call: { callId: '1.1', id: 'abc', arguments: { list: ['a'] } } };
    const hooks = {
      before: (event: { arguments: Record<string, unknown> }) =>
        Object.assign(event.arguments, { list: ['evil'] }),
      after: (event: { result: object }) => Object.assign(event.result, { content: 'evil' }),
    };
    const { result } = await run(async () => 'fine', job, { hooks });
    expect(result).toMatchObject({ content: 'fine', arguments: { list: ['a'] } });
    expect(job.call.arguments).toEqual({ list: ['a'] });
  });

  it('keep their `this`, so that they may be a store', async () => {
    class Store {
      calls: string[] = [];
      before({ tool }: { tool: string }): void {
        this.calls.push(tool);
      }
    }
    const store = new Store();
    await run(async () => 'fine', {}, { hooks: store });
    expect(store.calls).toEqual(['echo']);
  });
});

it('what executes the handler is replaceable', async () => {
  const runner: RunDeps['runner'] = async ({ tool, value }) =>
    `${tool.name} in a sandbox with ${JSON.stringify(value)}`;
  const { result } = await run(() => Promise.reject(new Error('not here')), {}, { runner });
  expect(result.content).toBe('echo in a sandbox with {"text":"a"}');
});

it('looks once more after its hooks, and does not start a handler that is cancelled by then', async () => {
  const order: string[] = [];
  const controller = new AbortController();
  const outcome = await run(
    async () => void order.push('handler'),
    {
      signal: controller.signal,
      beforeStart: async () => {
        order.push('look');
        await nextTurn();
        controller.abort(new Error('the machine was frozen'));
      },
    },
    { hooks: { before: () => order.push('before') } },
  );
  expect(order).toEqual(['before', 'look']);
  expect(outcome).toMatchObject({
    outcomeKnown: true,
    handler: 'unstarted',
    result: { success: false, error: { code: 'cancelled' } },
  });
});

describe('a secret that a handler was given', () => {
  const SECRET = 'k3y/with"odd=chars';
  const withSecret = async (handler: Tool['handle'], outputLimit = 4096): Promise<string> => {
    const lines = keepLines();
    const seen: unknown[] = [];
    const watch = (event: unknown): void => void seen.push(event);
    const executor = createExecutor({
      registry: createRegistry([
        makeTool({ handler: (value, context) => handler(value, context), outputLimit }),
      ]),
      secrets: async () => SECRET,
      log: createCallLog(lines),
      hooks: { after: watch, onError: watch },
    });
    const result = await executor.execute({ name: 'echo', arguments: {} });
    return JSON.stringify([result, lines.lines, seen]);
  };
  const get = ({ secrets }: CallContext): Promise<string> => secrets.get('key');

  it.each<[string, Tool['handle']]>([
    [
      'in a nested result',
      async (_, context) => ({ a: [{ [await get(context)]: new Map([['b', SECRET]]) }] }),
    ],
    ['in bytes', async (_, context) => Buffer.from(`x:${await get(context)}`)],
    ['in the type of its content', async (_, context) => ({ content: 'a', contentType: await get(context) })],
    [
      'in an error and its cause',
      async (_, context) => {
        const cause = new Error(`cause ${await get(context)}`);
        throw Object.assign(new Error(`no ${SECRET}`, { cause }), { token: SECRET });
      },
    ],
    [
      'in something thrown that is no error',
      async (_, context) => {
        throw { url: `/?k=${encodeURIComponent(await get(context))}` };
      },
    ],
    [
      'in the details of a ToolError',
      async (_, context) => {
        throw new ToolError('no', { details: { header: await get(context) } });
      },
    ],
    [
      'in partial output, in pieces',
      async (_, context) => {
        for (const letter of `x${await get(context)}y`) context.partial(letter);
        throw new Error('broken');
      },
    ],
    [
      'in its log',
      async (_, context) => {
        context.log.error(`used ${await get(context)}`, { header: SECRET });
      },
    ],
  ])('is redacted %s', async (_, handler) => {
    const text = await withSecret(handler);
    expect(text).toContain('[redacted]');
    expect(text).not.toMatch(/k3y|odd=chars|odd%3Dchars/);
    expect(text).not.toContain(Buffer.from(`x:${SECRET}`).toString('base64').slice(4, 12));
  });

  it('is not left half where a long output, message or partial output is cut', async () => {
    for (let before = 40; before < 70; before++) {
      const long = `${'x'.repeat(before)}${SECRET}${'y'.repeat(9000)}${SECRET}${'z'.repeat(before)}`;
      const handlers: Tool['handle'][] = [
        async (_, context) => get(context).then(() => long),
        async (_, context) => {
          context.partial(`${await get(context)}${long}`);
          throw new Error(long);
        },
      ];
      for (const handler of handlers) expect(await withSecret(handler, 128)).not.toMatch(/k3y|chars/);
    }
  });
});

it('gives calls of one executor the same state, by group, and calls of another one another', async () => {
  const keys: (string | undefined)[] = [];
  const handler = (_: unknown, { state }: CallContext): void => void keys.push(state?.key);
  const registry = createRegistry([
    makeTool({ name: 'recall', state: 'turn', stateGroup: 'memory', handler }),
    makeTool({ name: 'jot', state: 'turn', stateGroup: 'memory', handler }),
    makeTool({ name: 'other', state: 'turn', handler }),
    makeTool({ name: 'plain', handler }),
  ]);
  const executor = createExecutor({ registry });
  for (const name of ['recall', 'jot', 'other', 'plain']) await executor.execute({ name, arguments: {} });
  await createExecutor({ registry }).execute({ name: 'recall', arguments: {} });
  const [recall, jot, other, plain, elsewhere] = keys;
  expect(recall).toBe(jot);
  expect(plain).toBeUndefined();
  expect(new Set([recall, other, elsewhere]).size).toBe(3);
});

it.each<[string, Partial<CallContext>, Parameters<typeof makeTool>[0], RegExp]>([
  [
    'is lost',
    { state: sharedState('k', true) },
    { handler: () => 'two' },
    /^\[The state .* is lost\. .*\]\n\ntwo$/,
  ],
  [
    'is lost, of a call that fails',
    { state: sharedState('k', true) },
    {
      handler: () => {
        throw new ToolError('no');
      },
    },
    /^\[The state .* is lost\. .*\]\n\nError \[tool\]: no$/,
  ],
  [
    'is lost by what its handler found',
    { state: sharedState('k', false) },
    {
      handler: (_, { state }) => {
        state?.declareLost();
        return 'two';
      },
    },
    /^\[The state .* is lost\. .*\]\n\ntwo$/,
  ],
  ['is there', { state: sharedState('k', false) }, { handler: () => 'two' }, /^two$/],
  ['is not shared', {}, { handler: () => 'two' }, /^two$/],
])('a result says that the state %s', async (_, about, options, content) => {
  const { result } = await runJob(jobOf(makeTool(options), { about }), {});
  expect(result.content).toMatch(content);
});
