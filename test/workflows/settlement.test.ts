import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { FAILURES } from '../../src/contract/names';
import type { Effect } from '../../src/contract/tool';
import { settlementOf } from '../../src/workflows/settlement';
import { approvalsWith } from '../support/calls';

const activityFailure = (cause: Error): ActivityFailure =>
  new ActivityFailure('failed', 'pay', 'call-1.1-0', 'MAXIMUM_ATTEMPTS_REACHED', 'me', cause);
const timeout = (type: 'SCHEDULE_TO_START' | 'START_TO_CLOSE' | 'HEARTBEAT'): Error =>
  new TimeoutFailure('late', undefined, type);
const application = (type: string, ...details: unknown[]): Error =>
  ApplicationFailure.create({ type, message: 'broken', details });
const lastResult = {
  callId: '1.1',
  content: 'half of it',
  success: false,
  error: { code: 'transport', message: 'cut' },
};

function settle(effect: Effect, error: unknown) {
  const state = approvalsWith({ effect }).calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  const settlement = settlementOf(state, error, 0);
  return 'inDoubt' in settlement ? 'in doubt' : settlement.result.error?.code;
}

it.each<[string, unknown, string, string]>([
  ['nobody started it', activityFailure(timeout('SCHEDULE_TO_START')), 'expired', 'expired'],
  ['its worker was lost', activityFailure(timeout('HEARTBEAT')), 'in doubt', 'transport'],
  ['it never came back', activityFailure(timeout('START_TO_CLOSE')), 'in doubt', 'timeout'],
  [
    'its worker does not have it',
    activityFailure(application(FAILURES.notRegistered)),
    'tool_not_found',
    'tool_not_found',
  ],
  ['it was cancelled', activityFailure(new CancelledFailure('cancelled')), 'cancelled', 'cancelled'],
  ['its result was too large', activityFailure(application('PayloadTooLarge')), 'in doubt', 'unknown'],
  [
    'attempts were used up',
    activityFailure(application(FAILURES.retry, lastResult)),
    'in doubt',
    'transport',
  ],
  ['a retry without a result', activityFailure(application(FAILURES.retry)), 'in doubt', 'unknown'],
  ['an error of no known kind', new Error('x'), 'in doubt', 'unknown'],
  ['no error at all', 'thrown text', 'in doubt', 'unknown'],
])('%s: an unsafe call and a pure one', (_, error, unsafe, pure) => {
  expect(settle('unsafe', error)).toBe(unsafe);
  expect(settle('pure', error)).toBe(pure);
  expect(settle('idempotent', error)).toBe(pure);
});
