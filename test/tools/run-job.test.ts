import { createCallLog } from '../../src/tools/call-log';
import { ToolError, TransportError } from '../../src/tools/errors';
import { runJob, type RunDeps, type RunJob } from '../../src/tools/run-job';
import type { CallContext, Tool } from '../../src/tools/types';
import { gate, keepLines, makeTool } from './support';

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

const untilAborted = ({ signal }: CallContext): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

it('gives the handler what it needs', async () => {
  const plan = { path: 'a', baseHash: null, targetHash: 'b', encoding: 'utf8', hunks: [] } as const;
  let seen: unknown;
  const { result } = await run(
    async (value, { signal, partial, ...rest }) => {
      seen = { value, ...rest, aborted: signal.aborted, partial: typeof partial };
    },
    { plan: { ...plan, hunks: [] }, hunks: ['1'] },
  );
  expect(seen).toEqual({
    value: { text: 'a' },
    callId: '1.1',
    tool: 'echo',
    idempotencyKey: 'key:0',
    attempt: 2,
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
    });
    expect(await run(() => Promise.reject(other))).toMatchObject({ retryable: true, outcomeKnown: true });
  });
});

describe('time and cancellation', () => {
  it('ends at the timeout with partial output; the outcome is known of a handler that stops', async () => {
    const answer = await run(
      async (_, context) => {
        context.partial('one\n');
        context.partial('two\n');
        await untilAborted(context);
        context.signal.throwIfAborted();
      },
      { timeoutMs: 5 },
    );
    expect(answer).toMatchObject({
      retryable: false,
      outcomeKnown: true,
      result: { error: { code: 'timeout' } },
    });
    expect(answer.result.content).toBe('Error [timeout]: timed out after 5 ms\nPartial output:\none\ntwo\n');
  });

  it('tells what a handler returned after its time', async () => {
    const answer = await run(
      async (_, context) => {
        await untilAborted(context);
        return 'refunded';
      },
      { timeoutMs: 5 },
    );
    expect(answer).toMatchObject({
      outcomeKnown: true,
      result: { success: false, error: { code: 'timeout' } },
    });
    expect(answer.result.content).toContain('refunded');
  });

  it('does not know the outcome when the way broke on aborting', async () => {
    const answer = await run(
      async (_, context) => {
        await untilAborted(context);
        throw new TransportError('socket closed');
      },
      { timeoutMs: 5 },
    );
    expect(answer).toMatchObject({ outcomeKnown: false, result: { error: { code: 'timeout' } } });
  });

  it('leaves a handler that does not stop, and reports how it ended after all', async () => {
    const { opened, open } = gate<string>();
    const late = gate<unknown>();
    const answer = await run(() => opened, { timeoutMs: 5, onLate: (result) => late.open(result) });
    expect(answer).toMatchObject({ outcomeKnown: false, result: { error: { code: 'timeout' } } });
    open('done after all');
    expect(await late.opened).toMatchObject({ success: true, callId: '1.1', content: 'done after all' });
  });

  it('a late end that throws, or a report that does, harms nobody', async () => {
    const logger = keepLines();
    const { opened, open } = gate();
    const reported = gate();
    const onLate = (): never => {
      reported.open();
      throw new Error('nobody there');
    };
    const handler = () => opened.then(() => Promise.reject(new Error('late')));
    await run(handler, { timeoutMs: 5, onLate }, { log: createCallLog(logger) });
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
    expect(answer).toMatchObject({ outcomeKnown: true, result: { error: { code: 'cancelled' } } });
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

  it('one that never ends holds nothing up for ever', async () => {
    const logger = keepLines();
    const hooks = { after: () => new Promise(() => undefined) };
    const { result } = await run(async () => 'fine', {}, { hooks, log: createCallLog(logger) });
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
      beforeStart: () => {
        order.push('look');
        controller.abort(new Error('the machine was frozen'));
      },
    },
    { hooks: { before: () => order.push('before') } },
  );
  expect(order).toEqual(['before', 'look']);
  expect(outcome).toMatchObject({
    outcomeKnown: true,
    result: { success: false, error: { code: 'cancelled' } },
  });
});
