import type { ToolFailure } from '../../../src/contract/result';
import { FAILURES } from '../../../src/contract/names';
import type { DecodedFailure } from '../../../src/history/decode/events';
import { unhandledResult, lostInHistory, settleFailure } from '../../../src/history/fold/results';
import { newCall } from '../../../src/history/fold/think';
import { ask, result } from '../script';

const AT = '2026-01-01T00:00:00.000Z';
const times = { openMs: 1000, heartbeatMs: 500, startWithinMs: 60_000, maximumAttempts: 1 };
const failure = (more: Partial<DecodedFailure> = {}): DecodedFailure => ({
  message: 'activity task failed',
  kind: 'other',
  details: [],
  cause: { message: 'worker died', kind: 'timeout', timeout: 'HEARTBEAT', details: [], ...more },
});

test('a result that no handler made says which call, whether it was approved, and when', () => {
  const denied: ToolFailure = { code: 'denied', message: 'ann said no' };
  expect(unhandledResult(newCall(ask('1.1')), denied, AT)).toMatchObject({
    callId: '1.1',
    tool: 'pay',
    arguments: { n: 1 },
    success: false,
    error: denied,
    metadata: { timestamp: AT, safety_level: 'dangerous', approved: false },
  });
});

test.each([
  ['a timeout', {}, { cancelled: false, beaten: false, untaken: false }],
  ['a cancellation', { kind: 'canceled' }, { cancelled: true }],
  ['an attempt that had sent heartbeats', { beaten: true }, { beaten: true }],
  ['an activity that no worker had', { untaken: true }, { untaken: true }],
] as const)('%s is found at the root of a failure', (_, root, facts) => {
  expect(lostInHistory(failure(root))).toMatchObject({ message: 'worker died', ...facts });
});

test('a lost activity leaves an unsafe call in doubt, and fails another one', () => {
  expect(settleFailure(failure(), { effect: 'unsafe', times })).toHaveProperty('doubt');
  expect(settleFailure(failure(), { effect: 'pure', times })).toMatchObject({
    failure: { code: expect.any(String), message: expect.any(String) },
  });
});

test('the last result of a call that was tried again is its result', () => {
  const last = result('1.1');
  const retried = failure({ kind: 'application', type: FAILURES.retry, details: [last] });
  expect(settleFailure(retried, { effect: 'pure', times })).toEqual({ result: last });
  const broken = failure({ kind: 'application', type: FAILURES.retry, details: ['odd'] });
  expect(settleFailure(broken, { effect: 'pure', times })).toHaveProperty('failure');
});
