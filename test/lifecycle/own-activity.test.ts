import type { LostActivity } from '../../src/contract/lost-activity';
import type { Effect } from '../../src/contract/tool';
import { contentOfReturn } from '../../src/contract/gate';
import { settleOwn } from '../../src/lifecycle/own-activity';

const TIMES = { heartbeatMs: 10_000, startWithinMs: 3_600_000 };

function settle(
  failed: Partial<LostActivity>,
  effect: Effect = 'unsafe',
  causes: object[] = [],
  openMs = 5000,
) {
  const activity = { cancelled: false, untaken: false, beaten: false, message: 'no', ...failed };
  const first = { type: activity.type, message: activity.message };
  const retry = { maximumAttempts: 5, initialIntervalMs: 1, backoffCoefficient: 1 };
  const settled = settleOwn(
    { ...TIMES, effect, retry },
    { activity, causes: [first, ...causes.map((cause) => ({ message: '', ...cause }))], openMs },
  );
  if ('doubt' in settled) return 'in doubt';
  return `${settled.failure.code}, ${settled.known ? 'known' : 'not known'}`;
}

const unregistered = {
  type: 'NotFoundError',
  message: 'Activity function pay is not registered on this Worker, available activities: []',
};

it.each<[string, Partial<LostActivity>, string, string]>([
  ['threw', { type: 'Error' }, 'tool, known', 'tool, known'],
  ['threw something of its own', { type: 'CardExpired' }, 'tool, known', 'tool, known'],
  ['threw a NotFoundError of its own', { type: 'NotFoundError' }, 'tool, known', 'tool, known'],
  ['is not on the worker', unregistered, 'tool_not_found, known', 'tool_not_found, not known'],
  ['was not started', { timeout: 'SCHEDULE_TO_START' }, 'expired, known', 'expired, not known'],
  ['never came back', { timeout: 'START_TO_CLOSE' }, 'in doubt', 'timeout, not known'],
  ['lost its worker', { timeout: 'HEARTBEAT' }, 'in doubt', 'transport, not known'],
  ['was cancelled', { cancelled: true }, 'in doubt', 'cancelled, not known'],
  [
    'was cancelled before it started',
    { cancelled: true, untaken: true },
    'cancelled, known',
    'cancelled, not known',
  ],
  ['lost its connection', { type: 'TypeError', message: 'fetch failed' }, 'in doubt', 'unknown, not known'],
  ['was cut off', { type: 'Error', message: 'read ECONNRESET' }, 'in doubt', 'unknown, not known'],
  ['gave up waiting', { type: 'TimeoutError' }, 'in doubt', 'unknown, not known'],
  [
    'lost its gRPC server',
    { type: 'Error', message: '14 UNAVAILABLE: dropped' },
    'in doubt',
    'unknown, not known',
  ],
  [
    'had no answer from gRPC in time',
    { type: 'Error', message: '4 DEADLINE_EXCEEDED: Deadline exceeded after 2s' },
    'in doubt',
    'unknown, not known',
  ],
  [
    'lost its server of Connect',
    { type: 'ConnectError', message: '[unavailable] read failed' },
    'in doubt',
    'unknown, not known',
  ],
  [
    'was refused by gRPC',
    { type: 'Error', message: '7 PERMISSION_DENIED: no' },
    'tool, known',
    'tool, known',
  ],
  ['was reset by an operator', { type: 'ActivityReset' }, 'in doubt', 'unknown, not known'],
  ['returned what cannot be sent', { type: 'ValueError' }, 'in doubt', 'unknown, not known'],
  ['failed without a type', {}, 'in doubt', 'unknown, not known'],
])('an activity that %s', (_, failed, unsafe, idempotent) => {
  expect(settle(failed)).toBe(unsafe);
  expect(settle(failed, 'idempotent')).toBe(idempotent);
});

it('a broken connection is found among the causes', () => {
  expect(settle({ type: 'RefundFailed' }, 'unsafe', [{ type: 'Error', message: 'socket: EPIPE' }])).toBe(
    'in doubt',
  );
  expect(settle({ type: 'RefundFailed' }, 'unsafe', [{ type: 'Error', message: 'no money' }])).toBe(
    'tool, known',
  );
});

it('one that was open for long may have been started before', () => {
  expect(settle(unregistered, 'unsafe', [], 20_000)).toBe('in doubt');
});

it.each<[string, unknown, string, string]>([
  ['nothing', undefined, '', 'text'],
  ['a text', 'paid', 'paid', 'text'],
  ['another value', { paid: 40 }, '{"paid":40}', 'json'],
  ['null', null, 'null', 'json'],
])('what it returned as content: %s', (_, value, content, contentType) => {
  expect(contentOfReturn(value)).toEqual({ content, contentType });
});
