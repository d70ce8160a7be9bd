import { within } from '../../src/tools/wait-within';
import { runHandler } from '../../src/tools/run-handler';
import { gate, makeTool } from './support';

type HandlerRun = Parameters<typeof runHandler>[0];

const runOf = (handler: HandlerRun['tool']['handle'], change: Partial<HandlerRun> = {}) =>
  runHandler({
    tool: makeTool({ handler, outputLimit: 128 }),
    value: {},
    facts: { callId: '1.1', tool: 'echo', idempotencyKey: 'key:0', attempt: 1 },
    timeoutMs: 60_000,
    ...change,
  });

it('gives what the handler returned', async () => {
  expect(await runOf(async () => 7)).toEqual({ kind: 'returned', value: 7 });
});

it('gives what it threw, and what it gave before', async () => {
  const error = new Error('bug');
  const ending = await runOf(async (_, { partial }) => {
    partial('one row');
    throw error;
  });
  expect(ending).toEqual({ kind: 'threw', error, partial: 'one row' });
});

it('does not call a handler whose signal has aborted', async () => {
  const handler = jest.fn();
  const ending = await runOf(handler, { signal: AbortSignal.abort(new Error('stop')) });
  expect(ending).toMatchObject({ kind: 'cancelled', started: false, finished: { kind: 'threw' } });
  expect(handler).not.toHaveBeenCalled();
});

it('aborts the handler when its time is over, and gives how it ended within the grace', async () => {
  const ending = await runOf(
    (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
    { timeoutMs: 1 },
  );
  expect(ending).toMatchObject({ kind: 'timeout', finished: { kind: 'returned', value: 'late' } });
});

it('aborts the handler with the reason of a cancellation', async () => {
  const abort = new AbortController();
  const started = gate();
  const running = runOf(
    async (_, { signal }) => {
      started.open();
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    { signal: abort.signal },
  );
  await started.opened;
  abort.abort(new Error('the turn was cancelled'));
  expect(await running).toMatchObject({
    kind: 'cancelled',
    started: true,
    finished: { kind: 'threw', error: new Error('the turn was cancelled') },
  });
});

it('leaves a handler that goes on, and says later how it ended', async () => {
  jest.useFakeTimers();
  try {
    const { opened, open } = gate();
    const running = runOf(async () => opened, { timeoutMs: 1000 });
    await jest.advanceTimersByTimeAsync(3000);
    const ending = await running;
    expect(ending).toMatchObject({ kind: 'timeout', started: true, finished: undefined });
    open();
    if (!('late' in ending)) throw new Error('it ended by itself');
    expect(await ending.late).toEqual({ kind: 'returned', value: undefined });
  } finally {
    jest.useRealTimers();
  }
});

it('keeps head and tail of partial output, and counts what it dropped', async () => {
  const ending = await runOf(async (_, { partial }) => {
    partial('first ');
    for (let row = 0; row < 1000; row++) partial(`row ${row} `);
    partial('last');
    throw new Error('bug');
  });
  if (ending.kind !== 'threw') throw new Error('it did not throw');
  expect(ending.partial).toMatch(/^first row 0 .*\[\.\.\. \d+ bytes left out \.\.\.\].*last$/s);
  expect(Buffer.byteLength(ending.partial ?? '')).toBeLessThanOrEqual(128);
});

it('runs the handler by another runner', async () => {
  const runner = jest.fn().mockResolvedValue('from the sandbox');
  expect(await runOf(async () => 'here', { runner })).toEqual({
    kind: 'returned',
    value: 'from the sandbox',
  });
  expect(runner).toHaveBeenCalledWith(expect.objectContaining({ value: {} }));
});

it('stands still while a person is asked, and has the rest of its time afterwards', async () => {
  jest.useFakeTimers();
  try {
    const asked = gate();
    const answer = gate();
    const running = runOf(
      async (_, { ask, signal }) => {
        const reply = await ask?.({ text: 'How many?', form: {} });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return reply;
      },
      {
        timeoutMs: 1000,
        live: {
          ask: async () => {
            asked.open();
            await answer.opened;
            return { answer: 'declined' };
          },
        },
      },
    );
    await asked.opened;
    const isOver = within(running, 1500);
    await jest.advanceTimersByTimeAsync(1500);
    expect((await isOver).ended).toBe(false);
    answer.open();
    await jest.advanceTimersByTimeAsync(1000);
    expect(await running).toMatchObject({
      kind: 'timeout',
      finished: { kind: 'returned', value: { answer: 'declined' } },
    });
  } finally {
    jest.useRealTimers();
  }
});
