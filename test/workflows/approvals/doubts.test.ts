import { takeOutcome, settleDoubt } from '../../../src/workflows/approvals/doubts';
import { judgeDecision, takeDecision } from '../../../src/workflows/approvals/judge-decision';
import type { Approvals, CallState } from '../../../src/workflows/approvals/state';
import { cancelAll, settle, start } from '../../../src/workflows/approvals/transitions';
import { result } from '../../history/script';
import { approvalsWith } from '../../support/calls';
import { sweepAbandoned } from '../../../src/workflows/approvals/abandon';

const callOf = (approvals: Approvals): CallState => {
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call 1.1');
  return state;
};

/** A call that a person let run, and whose outcome nobody knows. */
function inDoubt(): Approvals {
  const approvals = approvalsWith({});
  const judged = judgeDecision(approvals, { callId: '1.1', decision: 'approved' }, 1);
  if (judged.kind !== 'take') throw new Error('the decision was not taken');
  takeDecision(approvals, judged, { now: 1, decisionId: 'a' });
  start(callOf(approvals));
  settle(approvals, callOf(approvals), { settlement: { inDoubt: { message: 'lost' } }, now: 9 });
  return approvals;
}

it('a proof settles a doubt once', () => {
  const approvals = inDoubt();
  expect(settleDoubt(approvals, callOf(approvals), result('1.1'))).toBe(true);
  expect(callOf(approvals).phase).toBe('done');
  expect(settleDoubt(approvals, callOf(approvals), result('1.1'))).toBe(false);
});

it.each<[string, object, boolean]>([
  ['of this execution', {}, true],
  ['of another call', { callKey: 'k:1.2' }, false],
  ['of another generation', { generation: 1 }, false],
  ['with another secret', { secret: 't' }, false],
])('a late outcome %s settles a doubt: %s', (_, change, isTaken) => {
  const approvals = inDoubt();
  const state = callOf(approvals);
  state.secret = 's';
  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: result('1.1'), ...change };
  expect(takeOutcome(approvals, outcome)).toBe(isTaken);
  expect(state.phase).toBe(isTaken ? 'done' : 'in_doubt');
});

it.each([
  ['We moved.', 0],
  ['I am sure that nothing ran.', 1],
])(
  'a turn that ends with a doubt tells the model who ended it, and why in their words: %s',
  (reason, generation) => {
    const approvals = inDoubt();
    const state = callOf(approvals);
    state.generation = generation;
    cancelAll(approvals, 6);
    approvals.abandoned = { reason, approver: 'ann', at: 7 };
    sweepAbandoned(approvals, 7);
    expect(state.result?.error).toEqual({
      code: 'in_doubt',
      message: `Unresolved: ann ended the turn with this call in doubt. ${reason}`,
    });
  },
);
