import { FAILURES } from '../../../src/contract/names';
import type { DecodedFailure } from '../../../src/history/decode/events';
import { lostInHistory } from '../../../src/history/fold/results';
import { ask, requested, result } from '../script';

const failure = (more: Partial<DecodedFailure> = {}): DecodedFailure => ({
  message: 'activity task failed',
  kind: 'other',
  details: [],
  cause: { message: 'worker died', kind: 'timeout', timeout: 'HEARTBEAT', details: [], ...more },
});

test('a result that no handler made says which call, whether it was approved, and when', () => {
  const script = requested().close({ expired: ['1.1'] });
  const at = script.events.at(-1)?.at;
  script.thinkScheduled(2, { results: [{ callId: '1.1', digest: 'd', success: false }] });
  expect(script.told('call_ended')[0]?.result).toMatchObject({
    callId: '1.1',
    tool: 'pay',
    arguments: { n: 1 },
    success: false,
    error: { code: 'expired' },
    metadata: { timestamp: at, safety_level: 'dangerous', approved: false },
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

test.each([
  ['the last result of a call that was tried again is its result', result('1.1'), 'handler'],
  ['a last result that cannot be read is not', 'odd', 'failure'],
])('%s', (_, last, origin) => {
  const script = requested({}, { effect: 'pure' });
  const call = script.call(ask('1.1', {}, { effect: 'pure' }));
  script.fails(call, { type: FAILURES.retry, details: [last] }).task();
  expect(script.told('call_ended')).toMatchObject([{ origin, result: { success: origin === 'handler' } }]);
});
