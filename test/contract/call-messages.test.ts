import {
  afterDoubt,
  decisionNote,
  denied,
  didNot,
  doubt,
  endedUntaken,
  ENDINGS,
  goesElsewhere,
  happened,
  lost,
  type LostActivity,
  unprepared,
  startWithin,
  unstarted,
  withDecisionNote,
} from '../../src/contract/call-messages';
import { FAILURES } from '../../src/contract/names';
import type { CallInput } from '../../src/contract/call';
import type { ToolFailure } from '../../src/contract/result';
import type { JsonObject } from '../../src/contract/json';

const ran: LostActivity = { cancelled: false, untaken: false, beaten: false, message: 'broken' };
const times = { openMs: 9999, heartbeatMs: 10_000, startWithinMs: 60_000, maximumAttempts: 1 };

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
    expect(unstarted(ended, { ...times, openMs })?.code).toBe(code);
    if (code !== undefined) return;
    expect(doubt(ended)).toContain('an earlier attempt of it may have been started');
    expect(lost(ended).message).toContain('An earlier attempt of it may have run.');
    expect(lost(ended).message).not.toContain('Nothing ran');
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
    expect(goesElsewhere(activity, { effect: 'unsafe', times: { ...held, openMs } })).toBe(unsafe);
    const again = { ...held, openMs, maximumAttempts: 5 };
    for (const effect of ['pure', 'idempotent'] as const)
      expect(goesElsewhere(activity, { effect, times: again })).toBe(other);
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
  expect(lost(ended).message).toMatch(/ An earlier attempt of it may have run\.$/);
});

describe('a call that was lost', () => {
  it.each([
    ['HEARTBEAT', 'stopped answering', 'transport', 'was lost'],
    ['START_TO_CLOSE', 'not heard of again', 'timeout', 'did not end in time'],
    [undefined, 'failed on its way back: broken', 'unknown', 'broken'],
  ])('by %s', (timeout, unsafe, code, message) => {
    expect(doubt({ ...ran, timeout })).toContain(unsafe);
    expect(lost({ ...ran, timeout })).toEqual({ code, message: expect.stringContaining(message) });
  });

  it('says something where the failure says nothing', () => {
    expect(lost({ ...ran, message: '' }).message).toBe('The call failed.');
  });
});

it.each([
  [undefined, 'ann denied this call: no reason was given. Nothing ran.'],
  ['', 'ann denied this call: no reason was given. Nothing ran.'],
  ['too much', 'ann denied this call: too much. Nothing ran.'],
])('a denial with reason %p', (reason, message) => {
  expect(denied({ approver: 'ann', reason })).toEqual({ code: 'denied', message });
});

it('tells what a person found', () => {
  expect(didNot({ approver: 'ann', reason: 'looked' })).toEqual({
    code: 'transport',
    message: 'The call was interrupted. ann found that it did not take effect. Reason: looked',
  });
  expect(happened({ approver: 'ann' }, undefined)).toBe(
    'The call was interrupted. ann found that it did take effect.',
  );
  expect(happened({ approver: 'ann' }, 'refund 7')).toMatch(/take effect\.\n\nrefund 7$/);
});

it('names the tool that could not be prepared', () => {
  expect(unprepared('pay', 'no answer')).toEqual({
    code: 'transport',
    message: 'The worker that has pay could not prepare this call: no answer. Nothing ran.',
  });
});

describe('decisionNote', () => {
  const note = (
    decision: Partial<NonNullable<CallInput['decision']>> | undefined,
    proposed?: JsonObject,
    args: JsonObject = {},
  ) =>
    decisionNote({
      arguments: args,
      ...(decision === undefined
        ? {}
        : {
            decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '', ...decision },
          }),
      ...(proposed === undefined ? {} : { proposed }),
    });

  it('says nothing where a person said nothing', () => {
    expect(note(undefined)).toBeUndefined();
    expect(note({})).toBeUndefined();
    expect(note({ reason: '' })).toBeUndefined();
  });

  it('passes a remark on', () => {
    expect(note({ reason: 'fine, but last time' })).toBe(
      '[ann approved this call. Reason: fine, but last time]',
    );
  });

  it('tells what was changed, by whom and why, and not to redo it', () => {
    const said = { approver: 'ann', reason: 'too much' };
    const text = note({ ...said, edit: said }, { amount: 500, to: 'x' }, { amount: 50, to: 'x', memo: 'm' });
    expect(text).toContain('ann changed the arguments of this call before it ran. Reason: too much');
    expect(text).toContain('amount: 500 → 50');
    expect(text).toContain('memo: (absent) → "m"');
    expect(text).not.toContain('to:');
    expect(text).toContain('Do not ask for the original again.');
  });

  it('cuts long values and still shows that they differ at their end', () => {
    const long = 'x'.repeat(1000);
    const text = note({ edit: { approver: 'ann' } }, { text: `${long}a` }, { text: `${long}b` }) ?? '';
    expect(text).toContain('text: "xxx');
    expect(text.length).toBeLessThan(1000);
  });

  it('tells who changed and who approved, where that is not the same person', () => {
    const decision = { approver: 'root', reason: 'fine', edit: { approver: 'ann', reason: 'shorter' } };
    const text = note(decision, { amount: 500 }, { amount: 50 });
    expect(text).toMatch(/^\[ann changed the arguments of this call before it ran\. Reason: shorter\n/);
    expect(text).toContain('\nroot approved this call. Reason: fine\n');
  });

  it('stands before the content once, however often it is put there', () => {
    const said = { approver: 'ann', reason: 'less' };
    const call = {
      decision: { decisionId: 'd', decision: 'modified' as const, seenDigest: '', ...said, edit: said },
      proposed: { amount: 500 },
      arguments: { amount: 50 },
    };
    const once = withDecisionNote(call, 'paid');
    expect(once).toMatch(/^\[ann changed[^]+\]\n\npaid$/);
    expect(withDecisionNote(call, once)).toBe(once);
    expect(withDecisionNote({ arguments: {} }, 'paid')).toBe('paid');
  });
});

it.each<[string, string]>([
  [
    'expired',
    'Nobody decided on this call in time. It expired and counts as denied; an earlier attempt of it may have run.',
  ],
  ['withdrawn', 'The request was withdrawn before anybody decided. An earlier attempt of it may have run.'],
  ['neverStarted', 'The turn was cancelled before this call started. An earlier attempt of it may have run.'],
])('a call that had run before does not say that nothing ran: %s', (ending, message) => {
  const failure = Object.entries(ENDINGS).find(([name]) => name === ending)?.[1];
  expect(failure && afterDoubt(failure).message).toBe(message);
});

it.each<ToolFailure['code']>(['transport', 'in_doubt', 'tool', 'unknown'])(
  'the end of a failure of code %s may be the words of a person or of a tool, and stays',
  (code) => {
    const failure = { code, message: 'Reason: I looked, and nothing ran.' };
    expect(afterDoubt(failure)).toEqual(failure);
  },
);
