import { movedStep, whyHeld } from '../../src/lifecycle/move';
import type { MovedCall, ThinkOutput } from '../../src/contract/think';
import { result, thinkOutput } from '../history/script';
import { approvalsWith, type Calls, type CallShape, validCall } from '../support/calls';

function decide(approvals: Calls, decision: object): string {
  const verdict = approvals.say('decision', { callId: '1.1', approver: 'ann', ...decision });
  return verdict.accepted ? 'take' : verdict.code;
}

const takeUpWaits = (approvals: Calls, waits: readonly MovedCall[]): void => {
  for (const wait of waits) approvals.do({ type: 'taken_up', callId: wait.callId, wait });
};

const approve = (approvals: Calls): void => void decide(approvals, { decision: 'approved' });

const lose = (approvals: Calls): void => {
  approve(approvals);
  approvals.start();
  approvals.lose('1.1', 9);
};

describe('a turn is held where', () => {
  it.each<[string, CallShape[], (approvals: Calls) => void, RegExp]>([
    ['nothing is open', [], () => undefined, /its model is at work/],
    ['a call is about to start', [{}, { callId: '1.2', kind: 'run' }], () => undefined, /1\.2 .*to start/],
    ['a call has a decision', [{}, { callId: '1.2' }], approve, /1\.1 .*has a decision/],
    ['a call runs', [{}], (all) => (approve(all), void all.start()), /1\.1 .*is running/],
    ['a call is in doubt', [{}, { callId: '1.2' }], lose, /1\.1 .*is in doubt/],
    [
      'a preview is being made for an edit',
      [{ preview: 'pays 10' }],
      (all) => void decide(all, { decision: 'modified', arguments: { amount: 5 } }),
      /prepared anew/,
    ],
    [
      'an edit stands',
      [{ preview: 'pays 10' }],
      (all) => {
        decide(all, { decision: 'modified', arguments: { amount: 5 } });
        const prepared = validCall({ preview: 'pays 5', args: { amount: 5 } });
        all.do({ type: 'prepared', callId: '1.1', prepared, at: 1 });
      },
      /was edited/,
    ],
    [
      'a call may have run',
      [{ effect: 'idempotent' }],
      (all) => {
        approve(all);
        all.start();
        const settlement = { askAgain: 'decided before', mayHaveRun: true as const };
        all.do({ type: 'settle', callId: '1.1', settlement });
      },
      /may have run/,
    ],
    ['it is cancelled', [{}], (all) => all.do({ type: 'cancel' }, 1), /is being cancelled/],
  ])('%s', (_case, shapes, change, why) => {
    const approvals = approvalsWith(...shapes);
    change(approvals);
    expect(whyHeld(approvals.state)).toMatch(why);
  });
});

it.each<[string, CallShape[]]>([
  ['a request', [{}]],
  ['a question', [{ question: true }]],
  ['both', [{}, { callId: '1.2', question: true }]],
])('nothing holds a turn that waits for %s alone', (_case, shapes) => {
  expect(whyHeld(approvalsWith(...shapes).state)).toBeUndefined();
});

it('a turn that was reset is held, whatever it waits for, and says the way out', () => {
  expect(whyHeld(approvalsWith({}).state, true)).toMatch(/a reset made this run.*decide what waits, or fork/);
});

/** Call 1.1 has its result, call 1.2 waits until the time 60,000. */
const half = (): { approvals: Calls; reply: ThinkOutput } => {
  const approvals = approvalsWith({}, { callId: '1.2' });
  approve(approvals);
  approvals.start();
  approvals.do({ type: 'settle', callId: '1.1', settlement: { result: result('1.1') } }, 9);
  const calls = [validCall(), validCall({ callId: '1.2' })];
  return { approvals, reply: thinkOutput(calls, { text: 'I pay.' }) };
};

it('takes along what has ended with its result, and what waits so that it is prepared anew', () => {
  const { approvals, reply } = half();
  const moved = movedStep(approvals.state, reply, 'queue');
  expect(moved.reply).toMatchObject({ replyId: reply.replyId, text: '', schemas: {} });
  expect(moved.reply.calls).toMatchObject([
    { kind: 'recorded', callId: '1.1', result: { content: result('1.1').content } },
    { kind: 'remote', callId: '1.2', raw: '{"amount":10}', taskQueue: 'queue', toolDigest: 'pay-1' },
  ]);
  // Asked about here, so asked about there, whatever a new policy says.
  expect(moved.reply.calls[1]).toHaveProperty('askFirst');
  const { seenDigest } = approvals.call('1.2');
  expect(moved.waits).toEqual([{ callId: '1.2', seenDigest, since: 0, deadline: 60_000 }]);
});

describe('a call that is taken up', () => {
  const wait = (shape: CallShape = {}) => {
    const { seenDigest } = approvalsWith(shape).call();
    return { callId: '1.1', seenDigest, since: -50, deadline: 7 };
  };

  it('keeps its time where it is shown as it was', () => {
    const approvals = approvalsWith({});
    takeUpWaits(approvals, [wait()]);
    expect(approvals.call()).toMatchObject({ since: -50, deadline: 7 });
    expect(decide(approvals, { decision: 'approved' })).toBe('take');
  });

  it.each<[string, object, string]>([
    ['an approval that does not say what was seen', { decision: 'approved' }, 'stale_args'],
    ['an approval of what was seen before', { decision: 'approved', seenDigest: 'before' }, 'stale_args'],
    ['an approval of what is shown now', { decision: 'approved', seenDigest: 'now' }, 'take'],
    ['a denial', { decision: 'denied' }, 'take'],
  ])('is another one where it is shown otherwise: %s', (_case, decision, outcome) => {
    const approvals = approvalsWith({ preview: 'pays 10 elsewhere' });
    takeUpWaits(approvals, [wait()]);
    const state = approvals.call();
    expect(state).toMatchObject({ deadline: 60_000 });
    const digests: Record<string, string> = { before: wait().seenDigest, now: state.seenDigest };
    const seen = 'seenDigest' in decision ? { seenDigest: digests[String(decision.seenDigest)] } : {};
    expect(decide(approvals, { ...decision, ...seen })).toBe(outcome);
  });

  it.each<[string, CallShape]>([
    ['one that does not wait here', { kind: 'run' }],
    ['one that is not here', { callId: '1.9' }],
  ])('is not %s', (_case, shape) => {
    const approvals = approvalsWith(shape);
    const before = approvals.state.calls;
    takeUpWaits(approvals, [wait()]);
    expect(approvals.state.calls).toEqual(before);
  });
});

it('stays another one when the turn moves once more: whoever saw the first one may be late', () => {
  const first = approvalsWith({});
  const reply = thinkOutput([validCall()]);
  const second = approvalsWith({ preview: 'pays 10 elsewhere' });
  takeUpWaits(second, movedStep(first.state, reply, 'queue').waits);
  const third = approvalsWith({ preview: 'pays 10 elsewhere' });
  takeUpWaits(third, movedStep(second.state, reply, 'queue').waits);
  expect(decide(third, { decision: 'approved' })).toBe('stale_args');
  expect(decide(third, { decision: 'approved', seenDigest: third.call().seenDigest })).toBe('take');
});
