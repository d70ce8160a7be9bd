import { MockActivityEnvironment } from '@temporalio/testing';
import {
  createPausesReader,
  pausedCall,
  requireUnpaused,
  untilNotHeld,
} from '../../../src/authority/pauses/worker-hold';
import type { CallInput } from '../../../src/contract/call';
import type { Pause } from '../../../src/authority/pauses/pause';
import { FAILURES } from '../../../src/contract/names';

const PAUSE: Pause = {
  id: 'p',
  at: '2026-11-24T12:00:00.000Z',
  by: 'ann',
  reason: 'an incident',
  tool: 'pay',
};
const CALL = { agent: 'a', tool: 'pay' };
const open = (...pauses: Pause[]): Pause[] => pauses;

/** A reader with a clock of its own. Each look gives the next of these; an error is thrown. */
const readerOf = (...looks: (readonly Pause[] | Error)[]) => {
  const place = { now: 0, looked: 0 };
  const look = async (): Promise<readonly Pause[]> => {
    const next = looks[Math.min(place.looked++, looks.length - 1)];
    if (next === undefined || next instanceof Error) throw next ?? new Error('no look is left');
    return next;
  };
  return { place, reader: createPausesReader({ look, now: () => place.now }) };
};

describe('the reader', () => {
  it.each([
    ['a pause', open(PAUSE), /^ann paused calls of pay since .* UTC: an incident$/],
    ['nothing paused', open(), undefined],
    ['another tool paused', open({ ...PAUSE, tool: 'look' }), undefined],
    ['one that cannot be read', new Error('no server'), /nobody can tell whether it is paused: no server/],
  ])('says what it comes to: %s', async (_case, look, expected) => {
    const held = await readerOf(look).reader.whyHeld(CALL);
    if (expected === undefined) expect(held).toBeUndefined();
    else expect(held).toMatch(expected);
  });

  it('asks once for all who ask at the same time, and again after a second from when it began', async () => {
    const { reader, place } = readerOf(open(), open(PAUSE));
    const both = await Promise.all([reader.whyHeld(CALL), reader.whyHeld({ agent: 'a' })]);
    expect(both).toEqual([undefined, undefined]);
    place.now = 999;
    await expect(reader.whyHeld(CALL)).resolves.toBeUndefined();
    expect(place.looked).toBe(1);
    place.now = 1000;
    await expect(reader.whyHeld(CALL)).resolves.toMatch(/ann paused/);
    expect(place.looked).toBe(2);
  });

  it.each<[string, number, readonly Pause[] | Error, number, RegExp | undefined]>([
    ['a quick answer', 900, open(), 1, undefined],
    ['a slow answer', 2_000, open(), 1, /took 2\.0 s/],
    ['no answer', 2_000, new Error('nothing came'), 2, /no call with an effect starts: nothing came/],
  ])('takes %s, and tells of a slow server once', async (_what, tookMs, look, looks, told) => {
    const lines: string[] = [];
    let clock = 0;
    const reader = createPausesReader({
      look: async () => {
        clock += tookMs;
        if (look instanceof Error) throw look;
        return look;
      },
      now: () => clock,
      warn: (line) => lines.push(line),
    });
    for (let n = 0; n < looks; n++) {
      const held = await reader.whyHeld(CALL);
      expect(held === undefined).toBe(!(look instanceof Error));
    }
    if (told === undefined) expect(lines).toEqual([]);
    else expect(lines).toEqual([expect.stringMatching(told)]);
  });

  it('does not keep a failure', async () => {
    const { reader, place } = readerOf(new Error('no server'), open());
    await expect(reader.whyHeld(CALL)).resolves.toMatch(/no server/);
    await expect(reader.whyHeld(CALL)).resolves.toBeUndefined();
    expect(place.looked).toBe(2);
  });
});

const inputOf = (part: Partial<CallInput>): CallInput => ({
  ...{ callId: '1.1', id: 'm1', tool: 'pay', agent: 'a', callKey: 'k:1.1', generation: 0 },
  ...{ arguments: {}, argsDigest: 'd', toolDigest: 't', effect: 'unsafe', timeoutMs: 1, originalRunId: 'r' },
  ...part,
});

describe('a call that is about to start', () => {
  const { reader: pauses } = readerOf(open(PAUSE));

  it.each<[string, Partial<CallInput>]>([
    ['is pure', { effect: 'pure' }],
    ['is of a dry world', { dry: true }],
    ['is of another tool', { tool: 'look' }],
  ])('may start where it %s', async (_case, part) => {
    expect(await pausedCall({ pauses }, inputOf(part), false)).toBeUndefined();
  });

  it.each<[Partial<CallInput>, boolean, object]>([
    [{ secret: 's' }, true, { secret: 's' }],
    [{ effect: 'idempotent' }, false, {}],
    [{ effect: 'idempotent' }, true, { mayHaveRun: true }],
  ])('is held: %j, after an attempt: %s', async (part, mayHaveRun, also) => {
    const paused = expect.stringMatching(/ann paused calls of pay/);
    await expect(pausedCall({ pauses }, inputOf(part), mayHaveRun)).resolves.toEqual({ paused, ...also });
  });

  it('does not ask where it is pure', async () => {
    const { reader, place } = readerOf(open());
    await pausedCall({ pauses: reader }, inputOf({ effect: 'pure' }), false);
    expect(place.looked).toBe(0);
  });
});

describe('waiting for the end of a pause', () => {
  it.each([
    [1, 5_000],
    [2, 10_000],
    [4, 40_000],
    [5, 60_000],
    [5_000, 60_000],
  ])('tries again after attempt %s in some %s ms', async (attempt, wait) => {
    const { reader: pauses } = readerOf(open(PAUSE));
    const held = new MockActivityEnvironment({ attempt }).run(() => untilNotHeld({ pauses }, CALL));
    const error: unknown = await held.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ type: FAILURES.paused, nonRetryable: false });
    const { nextRetryDelay } = Object(error);
    expect(nextRetryDelay).toBeGreaterThanOrEqual(wait * 0.75);
    expect(nextRetryDelay).toBeLessThanOrEqual(wait * 1.25);
  });

  it('ends where none holds it', async () => {
    const { reader: pauses } = readerOf(open());
    const run = new MockActivityEnvironment().run(() => untilNotHeld({ pauses }, CALL));
    await expect(run).resolves.toBeUndefined();
  });

  it.each([
    [PAUSE, false],
    [{ ...PAUSE, tool: undefined, models: true as const }, true],
  ])('holds a model call: %j, %s', async ({ tool, ...rest }, isHeld) => {
    const pause: Pause = tool === undefined ? rest : { ...rest, tool };
    const { reader: pauses } = readerOf(open(pause));
    const run = new MockActivityEnvironment().run(() => requireUnpaused({ pauses }, 'a'));
    if (isHeld) await expect(run).rejects.toMatchObject({ type: FAILURES.paused });
    else await expect(run).resolves.toBeUndefined();
  });
});
