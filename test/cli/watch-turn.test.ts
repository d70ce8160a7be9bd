import type { Countersign } from '../../src/client';
import type { Context } from '../../src/cli/context';
import { followTurn, heldUpBy, watchSilence, watchTurn } from '../../src/cli/watch-turn';
import type { PendingActivity } from '../../src/client';
import type { TextDelta } from '../../src/contract/streamed-text';
import type { TurnEvent } from '../../src/history/events';
import { AT, request, testScreen } from './support';

const head = { eventId: 1, at: AT };
const START: TurnEvent = {
  ...head,
  type: 'turn_started',
  turn: 't',
  runId: 'r',
  agent: 'a',
  prompt: 'p',
  taskQueue: 'q',
};
const STEP: TurnEvent = {
  ...head,
  type: 'step',
  step: 1,
  text: '',
  model: 'm',
  finishReason: 'stop',
  calls: [{ callId: '1.1', id: 'm', tool: 'pay', kind: 'ask', arguments: {} }],
};
const END: TurnEvent = { ...head, eventId: 20, type: 'turn_ended', status: 'answered', answer: 'done' };

/** A web inbox whose turn has these events and, where it is `open`, no end yet. */
const client = (events: TurnEvent[], open = false): Pick<Countersign, 'follow'> => ({
  async *follow(_turn, { signal } = {}) {
    yield* events;
    if (open)
      await new Promise<void>((resolve) =>
        signal?.addEventListener('abort', () => resolve(), { once: true }),
      );
  },
});

const follow = async (
  from: ReturnType<typeof client>,
  plan: Partial<Pick<Parameters<typeof followTurn>[1], 'waitMs' | 'signal' | 'isNew' | 'look'>> = {},
) => {
  const seen: string[] = [];
  const { end, view } = await followTurn(
    { ...from, followWithText: (turn, options) => from.follow(turn, options) },
    {
      turn: 't',
      signal: new AbortController().signal,
      look: async () => ({ lines: [] }),
      onSilence: () => Promise.resolve(),
      onEvent: (event) => seen.push(event.type),
      ...plan,
    },
  );
  return { end, seen, status: view.status };
};

describe('following a turn', () => {
  it('hands on every event until the end', async () => {
    await expect(follow(client([START, STEP, request(), END]))).resolves.toEqual({
      end: 'ended',
      seen: ['turn_started', 'step', 'request_opened', 'turn_ended'],
      status: 'answered',
    });
  });

  it('gives up when a person takes too long', async () => {
    await expect(follow(client([START, STEP, request()], true), { waitMs: 20 })).resolves.toMatchObject({
      end: 'waiting',
      status: 'waiting',
    });
  });

  it('gives up at once when it is late and only then has to wait for a person', async () => {
    const late = {
      async *follow(): AsyncIterable<TurnEvent> {
        yield START;
        await new Promise((resolve) => setTimeout(resolve, 30));
        yield STEP;
        yield request();
        yield END;
      },
    };
    await expect(follow(late, { waitMs: 1 })).resolves.toMatchObject({ end: 'waiting' });
  });

  it('does not give up on a turn that runs', async () => {
    const slow = {
      async *follow(): AsyncIterable<TurnEvent> {
        yield START;
        await new Promise((resolve) => setTimeout(resolve, 30));
        yield END;
      },
    };
    await expect(follow(slow, { waitMs: 1 })).resolves.toMatchObject({ end: 'ended' });
  });

  it('gives up on a turn that something else than a person holds', async () => {
    const look = async () => ({ lines: ['no worker'] });
    await expect(follow(client([START], true), { waitMs: 20, look })).resolves.toMatchObject({
      end: 'waiting',
      status: 'running',
    });
  });

  it.each([
    ['a new turn without waiting', true, 'hopeless'],
    ['another turn when the time is over', false, 'waiting'],
  ])('gives up on %s where no worker has its agent', async (_case, isNew, end) => {
    const look = async () => ({ lines: ['no worker has it'], lack: 'no worker has it' });
    const plan = { look, isNew, ...(isNew ? {} : { waitMs: 20 }) };
    await expect(follow(client([START], true), plan)).resolves.toMatchObject({ end });
  });

  it('ends when it is interrupted, whatever the turn does', async () => {
    const stop = new AbortController();
    const following = follow(client([START, STEP, request()], true), { signal: stop.signal });
    setImmediate(() => stop.abort());
    await expect(following).resolves.toMatchObject({ end: 'interrupted' });
  });

  it('hands on what goes wrong', async () => {
    const broken = {
      async *follow(): AsyncIterable<TurnEvent> {
        throw new Error('gone');
      },
    };
    await expect(follow(broken)).rejects.toThrow('gone');
  });
});

describe('what holds a turn', () => {
  const activity = (more: Partial<PendingActivity>): PendingActivity => ({
    ...{ what: 'think', name: 'countersign.think', state: 'scheduled', taskQueue: 'q' },
    ...{ attempt: 2, maximumAttempts: 0, ...more },
  });
  const held = (...activities: Partial<PendingActivity>[]) =>
    heldUpBy({ activities: activities.map(activity), idleQueues: [] });

  it.each<[string, Partial<PendingActivity>[]]>([
    ['a call that runs', [{ state: 'started' }]],
    ['a call that runs beside one that is tried again', [{ state: 'started' }, { waits: 'retry' }]],
    ['a call that a worker is about to take', [{ waits: 'worker' }]],
  ])('is nothing with %s', (_case, activities) => {
    expect(held(...activities)).toMatchObject({ lines: [] });
  });

  it.each<[PendingActivity['waits'], string]>([
    ['retry', 'the model failed and is tried again, attempt 2'],
    ['pause', 'the model is held by a pause, attempt 2'],
    ['other_worker', 'the model waits for another worker, attempt 2'],
    ['nobody', 'the model waits, and no worker of its queue has what it needs, attempt 2'],
  ])('is said of one that waits for %s', (waits, line) => {
    expect(held({ waits }).lines).toEqual([line]);
  });

  it('is a lack only where no worker of the queue can ask the model', () => {
    const lastFailure = 'no worker with agent "clrk" here';
    expect(held({ waits: 'nobody', lastFailure }).lack).toBe(lastFailure);
    expect(held({ waits: 'other_worker', lastFailure }).lack).toBeUndefined();
    expect(held({ waits: 'nobody', what: 'call', lastFailure }).lack).toBeUndefined();
  });

  it('is a queue without a worker', () => {
    expect(heldUpBy({ activities: [], idleQueues: ['q'] }).lines).toEqual([
      'no worker takes work from the queue q: start one with `countersign worker`',
    ]);
  });
});

describe('the text that a model writes', () => {
  const THINKING: TurnEvent = { ...head, type: 'thinking', step: 1 };
  const text = (more: Partial<TextDelta>): TextDelta => ({
    ...{ type: 'text', runId: 'r', step: 1, attempt: 1, at: 0, text: '' },
    ...more,
  });
  const FOLLOWED = [
    ...[START, THINKING, text({ text: 'one ' }), text({ at: 4, text: 'two\n\u001b[2Jthree' })],
    ...[text({ attempt: 2, text: 'other' }), STEP, END],
  ];

  /** What is printed and drawn of a turn with these texts. */
  const watch = async (isTerminal: boolean, events: (TurnEvent | TextDelta)[] = FOLLOWED, json = false) => {
    const screen = { ...testScreen(40), isTerminal };
    const source: Pick<Countersign, 'follow' | 'followWithText' | 'timeline' | 'pendingActivities'> = {
      timeline: async () => [],
      pendingActivities: async () => ({ activities: [], idleQueues: [] }),
      async *follow() {
        yield* events.filter((event) => event.type !== 'text');
      },
      async *followWithText() {
        yield* events;
      },
    };
    const client = new Proxy<Countersign>(Object.create(null), {
      get: (_, name) => Reflect.get(source, name),
    });
    const context = { screen, json, command: (args: string) => args, typed: (sentence: string) => sentence };
    await watchTurn(
      client,
      { turn: 't' },
      new Proxy<Context>(Object.create(null), {
        get: (_, name) => Reflect.get(context, name),
      }),
    );
    return screen;
  };

  it('is drawn while it grows, and begins anew with each attempt', async () => {
    const { drawn, printed } = await watch(true);
    expect(drawn).toEqual([
      ['the model writes …', '  one'],
      ['the model writes …', '  one two', '  \\x1b[2Jthree'],
      ['the model writes again, from the beginning (attempt 2) …', '  other'],
    ]);
    expect(printed.join('\n')).toContain('done');
    expect(printed.join('\n')).not.toContain('other');
  });

  it('is drawn by its last lines', async () => {
    const long = text({ text: Array.from({ length: 5_000 }, (_, word) => `word${word}`).join(' ') });
    const { drawn } = await watch(true, [START, THINKING, long, END]);
    expect(drawn[0]).toHaveLength(9);
    expect(drawn[0]?.at(-1)).toContain('word4999');
    expect(drawn[0]?.every((line) => line.length < 40)).toBe(true);
  });

  it.each([
    ['where nobody reads along', false],
    ['with --json', true],
  ])('is not drawn %s', async (_case, json) => {
    expect((await watch(json, FOLLOWED, json)).drawn).toEqual([]);
  });
});

describe('watchSilence', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** A watch whose reports end when they are let go. */
  const watched = () => {
    const open: (() => void)[] = [];
    const watch = watchSilence(() => new Promise((resolve) => open.push(resolve)));
    return { ...watch, open, letGo: () => open.splice(0).forEach((end) => end()) };
  };

  it('reports at growing intervals', async () => {
    const { open, letGo, end } = watched();
    const seen: number[] = [];
    for (const ms of [3_000, 15_000, 60_000, 60_000]) {
      await jest.advanceTimersByTimeAsync(ms - 1);
      seen.push(open.length);
      await jest.advanceTimersByTimeAsync(1);
      seen.push(open.length);
      letGo();
      await jest.advanceTimersByTimeAsync(0);
    }
    end();
    expect(seen).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
  });

  it.each([
    ['it ends', ['end']],
    ['it ends during a report', ['report', 'end']],
    ['it is broken during a report, then ends', ['report', 'broken', 'letGo', 'end']],
    ['it ends after a report that was broken is over', ['report', 'broken', 'end', 'letGo']],
    ['something still comes after the end', ['end', 'broken']],
    ['something comes after the end and during a report', ['report', 'end', 'broken', 'letGo']],
  ] as const)('leaves no timer where %s', async (_, steps) => {
    const { letGo, ...watch } = watched();
    for (const step of steps) {
      if (step === 'report') await jest.advanceTimersByTimeAsync(3_000);
      else if (step === 'letGo') letGo();
      else watch[step]();
      await jest.advanceTimersByTimeAsync(0);
    }
    letGo();
    await jest.advanceTimersByTimeAsync(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});
