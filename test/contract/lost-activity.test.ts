import {
  endedUntaken,
  goesElsewhere,
  type LostActivity,
  settleLost,
  startWithin,
  unstarted,
} from '../../src/contract/lost-activity';
import { FAILURES } from '../../src/contract/names';

const ran: LostActivity = { cancelled: false, untaken: false, beaten: false, message: 'broken' };
const times = { openMs: 9999, heartbeatMs: 10_000, startWithinMs: 60_000, maximumAttempts: 1 };

/** What such a loss means for an unsafe call, and for one that may run again. */
const losses = (activity: LostActivity, open = times) => ({
  unsafe: settleLost(activity, { effect: 'unsafe', times: open }),
  pure: settleLost(activity, { effect: 'pure', times: open }),
});

describe('unstarted', () => {
  it.each<[string, LostActivity, string | undefined]>([
    ['a cancellation that no worker heard of', { ...ran, cancelled: true, untaken: true }, 'cancelled'],
    ['a cancellation', { ...ran, cancelled: true }, undefined],
    ['a schedule-to-start timeout', { ...ran, timeout: 'SCHEDULE_TO_START' }, 'expired'],
    ['a worker without the tool', { ...ran, type: FAILURES.notRegistered }, 'tool_not_found'],
    ['a heartbeat timeout', { ...ran, timeout: 'HEARTBEAT' }, undefined],
    ['a start-to-close timeout', { ...ran, timeout: 'START_TO_CLOSE' }, undefined],
    ['any other failure', ran, undefined],
  ])('%s', (_, activity, code) => {
    expect(unstarted(activity, times)?.code).toBe(code);
    expect(endedUntaken(activity)).toBe(code !== undefined);
  });

  it.each<[string, Partial<LostActivity>, number, string | undefined]>([
    [
      'a cancellation as late as an attempt could be lost',
      { cancelled: true, untaken: true },
      10_000,
      undefined,
    ],
    ['a worker without the tool as late as that', { type: FAILURES.notRegistered }, 10_000, undefined],
    ['no worker in time, and no longer', { timeout: 'SCHEDULE_TO_START' }, 69_999, 'expired'],
    [
      'no worker in time, but after the time for an earlier attempt',
      { timeout: 'SCHEDULE_TO_START' },
      70_000,
      undefined,
    ],
    [
      'no worker in time for an attempt after one that beat',
      { timeout: 'SCHEDULE_TO_START', beaten: true },
      60_000,
      undefined,
    ],
    ['a time that is not known', { cancelled: true, untaken: true }, Number.POSITIVE_INFINITY, undefined],
    ['a time that is no number', { cancelled: true, untaken: true }, Number.NaN, undefined],
  ])('%s', (_, activity, openMs, code) => {
    const ended = { ...ran, ...activity };
    const proven = unstarted(ended, { ...times, openMs });
    expect(proven?.code).toBe(code);
    const { unsafe, pure } = losses(ended, { ...times, openMs });
    if (proven !== undefined) {
      for (const settled of [unsafe, pure]) expect(settled).toEqual({ failure: proven, known: true });
      return;
    }
    expect(unsafe).toEqual({
      doubt: expect.stringContaining('an earlier attempt of it may have been started'),
    });
    expect(pure).toMatchObject({
      failure: {
        message: expect.stringMatching(/^(?!.*Nothing ran).*An earlier attempt of it may have run\.$/),
      },
      known: false,
    });
  });
});

describe('a call on the queue of the worker that held its state', () => {
  it.each([
    [3_600_000, false, 3_600_000],
    [3_600_000, true, 15_000],
    [5_000, true, 5_000],
  ])('of %d ms to start (held: %s) waits %d ms', (startWithinMs, isHeld, ms) => {
    expect(startWithin({ startWithinMs }, isHeld)).toBe(ms);
  });

  const late: LostActivity = { ...ran, timeout: 'SCHEDULE_TO_START' };
  const held = { ...times, startWithinMs: 15_000 };
  it.each<[string, LostActivity, number, boolean, boolean]>([
    ['was not taken', late, 15_100, true, true],
    ['was not taken, so late that an attempt may have been lost', late, 25_000, false, true],
    ['was not taken, after an attempt that beat', { ...late, beaten: true }, 15_100, false, true],
    ['was lost with its worker', { ...ran, timeout: 'HEARTBEAT' }, 11_000, false, false],
    ['took too long', { ...ran, timeout: 'START_TO_CLOSE' }, 41_000, false, false],
    ['was cancelled before', { ...ran, cancelled: true, untaken: true }, 100, false, false],
    ['failed', ran, 100, false, false],
  ])('that %s goes elsewhere or not, by its effect', (_, activity, openMs, unsafe, other) => {
    expect(goesElsewhere(activity, { effect: 'unsafe', times: { ...held, openMs } })).toEqual(
      unsafe ? { mayHaveRun: false } : undefined,
    );
    const again = { ...held, openMs, maximumAttempts: 5 };
    for (const effect of ['pure', 'idempotent'] as const)
      expect(goesElsewhere(activity, { effect, times: again })).toEqual(
        other ? { mayHaveRun: true } : undefined,
      );
  });
});

it.each<[string, Partial<LostActivity>]>([
  ['cancelled in the pause before its next attempt', { cancelled: true, untaken: true }],
  ['without a worker for its next attempt', { timeout: 'SCHEDULE_TO_START' }],
  ['on a worker that lacks its tool', { type: FAILURES.notRegistered }],
])('a call that may have run before is not said to have run nothing: %s', (_, activity) => {
  const ended = { ...ran, ...activity };
  expect(unstarted(ended, { ...times, openMs: 1 })).toBeDefined();
  expect(unstarted(ended, { ...times, openMs: 1, maximumAttempts: 2 })).toBeUndefined();
  // As many as it takes.
  expect(unstarted(ended, { ...times, openMs: 1, maximumAttempts: 0 })).toBeUndefined();
  expect(losses(ended, { ...times, openMs: 1, maximumAttempts: 2 }).pure).toMatchObject({
    failure: { message: expect.stringMatching(/ An earlier attempt of it may have run\.$/) },
    known: false,
  });
});

describe('a call that was lost', () => {
  it.each([
    ['HEARTBEAT', 'stopped answering', 'transport', 'was lost'],
    ['START_TO_CLOSE', 'not heard of again', 'timeout', 'did not end in time'],
    [undefined, 'failed on its way back: broken', 'unknown', 'broken'],
  ])('by %s', (timeout, unsafe, code, message) => {
    expect(losses({ ...ran, timeout })).toEqual({
      unsafe: { doubt: expect.stringContaining(unsafe) },
      pure: { failure: { code, message: expect.stringContaining(message) }, known: false },
    });
  });

  it('says something where the failure says nothing', () => {
    expect(losses({ ...ran, message: '' }).pure).toMatchObject({ failure: { message: 'The call failed.' } });
  });
});
