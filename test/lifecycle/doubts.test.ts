import { result } from '../history/script';
import { approvalsWith, type Calls } from '../support/calls';

/** A call that a person let run, and whose outcome nobody knows. */
function inDoubt(): Calls {
  const approvals = approvalsWith({});
  approvals.say('decision', { callId: '1.1', decision: 'approved' });
  approvals.start('1.1', 's');
  approvals.lose();
  return approvals;
}

it('a proof settles a doubt once', () => {
  const approvals = inDoubt();
  approvals.do({ type: 'prove', callId: '1.1', result: result('1.1') });
  const { state } = approvals;
  expect(approvals.call().phase).toBe('done');
  approvals.do({ type: 'prove', callId: '1.1', result: result('1.1', { content: 'other' }) });
  expect(approvals.state).toBe(state);
});

it.each<[string, object, boolean]>([
  ['of this execution', {}, true],
  ['of another call', { callKey: 'k:1.2' }, false],
  ['of another generation', { generation: 1 }, false],
  ['with another secret', { secret: 't' }, false],
])('a late outcome %s settles a doubt: %s', (_, change, isTaken) => {
  const approvals = inDoubt();
  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: result('1.1'), ...change };
  approvals.do({ type: 'outcome', outcome });
  expect(approvals.call().phase).toBe(isTaken ? 'done' : 'in_doubt');
});

it('a late outcome that comes before the loss of its call is known settles the doubt at once', () => {
  const approvals = approvalsWith({ kind: 'run' });
  approvals.start('1.1', 's');
  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: result('1.1') };
  approvals.do({ type: 'outcome', outcome });
  expect(approvals.call().phase).toBe('running');
  approvals.lose();
  expect(approvals.call()).toMatchObject({ phase: 'done', result: outcome.result });
  expect([...approvals.state.closings]).toEqual([['1.1', 'proven']]);
});

it('a call that has no secret takes no late outcome', () => {
  const approvals = approvalsWith({ kind: 'run', effect: 'idempotent' });
  approvals.start();
  const outcome = { callKey: 'k:1.1', generation: 0, secret: '', result: result('1.1') };
  expect(approvals.do({ type: 'outcome', outcome })).toEqual({ events: [] });
});

it.each([
  ['We moved.', 0],
  ['I am sure that nothing ran.', 1],
])(
  'a turn that ends with a doubt tells the model who ended it, and why in their words: %s',
  (reason, generation) => {
    const approvals = inDoubt();
    if (generation === 1) {
      approvals.say('resolution', { callId: '1.1', resolution: 'run-again' });
      approvals.start();
      approvals.lose();
    }
    approvals.do({ type: 'cancel' }, 6);
    approvals.do({ type: 'abandon', by: { reason, approver: 'ann' } }, 7);
    approvals.do({ type: 'look' }, 7);
    expect(approvals.call()).toMatchObject({
      result: {
        error: {
          code: 'in_doubt',
          message: `Unresolved: ann ended the turn with this call in doubt. ${reason}`,
        },
      },
    });
  },
);
