import { carriedDecisions, makeApprovals } from '../../src/lifecycle/state';
import { approvalsWith, Calls } from '../support/calls';

const asked = (): Calls => approvalsWith({ question: true });

const answer = (approvals: Calls, message: unknown, now = 1) => approvals.say('answer', message, now);

const SEVEN = { callId: '1.1', answer: 'answered', content: { age: 7 } };

it('takes what fits, fills in defaults, and closes the call with it', () => {
  const approvals = asked();
  expect(answer(approvals, { ...SEVEN, approver: 'ann' })).toMatchObject({
    accepted: true,
    decision: 'answered',
  });
  expect(approvals.state.calls.get('1.1')).toMatchObject({
    phase: 'done',
    result: {
      success: true,
      content: 'ann answered.\n\n{"age":7,"unit":"years"}',
      metadata: { approved: false },
    },
  });
});

it.each<[what: string, message: unknown, code: string]>([
  ['null', null, 'malformed'],
  ['a text', 'yes', 'malformed'],
  ['no call', { answer: 'answered' }, 'malformed'],
  ['an unknown word', { ...SEVEN, answer: 'approved' }, 'malformed'],
  ['a field nobody knows', { ...SEVEN, decision: 'approved' }, 'malformed'],
  ['content that is a list', { ...SEVEN, content: [7] }, 'malformed'],
  ['content beside declined', { ...SEVEN, answer: 'declined' }, 'malformed'],
  ['an endless number', { ...SEVEN, content: { age: Infinity } }, 'malformed'],
  ['too little', { callId: '1.1', answer: 'answered' }, 'validation'],
  ['a wrong type', { ...SEVEN, content: { age: '7' } }, 'validation'],
  ['too much', { ...SEVEN, content: { age: 7, more: 1 } }, 'validation'],
  ['a reason of 2,000 three-byte letters', { ...SEVEN, reason: '€'.repeat(2000) }, 'malformed'],
  ['the key of another asking', { ...SEVEN, callKey: 'k:9' }, 'stale_args'],
  ['an unknown call', { ...SEVEN, callId: '1.2' }, 'unknown_call'],
])('refuses %s and leaves the question open', (_what, message, code) => {
  const approvals = asked();
  expect(answer(approvals, message)).toMatchObject({ accepted: false, code });
  expect(approvals.state.calls.get('1.1')?.phase).toBe('question');
  expect(approvals.state.verdicts.all).toEqual([]);
});

it('names each field that is wrong, and what is', () => {
  expect(answer(asked(), { ...SEVEN, content: { age: -1, unit: 3 } })).toMatchObject({
    issues: [{ path: '/age' }, { path: '/unit' }],
  });
});

it.each([
  ['approved', { callId: '1.1', decision: 'approved' }],
  ['denied', { callId: '1.1', decision: 'denied' }],
])('a question that is %s stays a question', (_word, message) => {
  const approvals = asked();
  expect(approvals.say('decision', message)).toMatchObject({ code: 'malformed' });
  expect(approvals.state.calls.get('1.1')?.phase).toBe('question');
});

it('an answer leaves a request as it is, and nothing of it starts', () => {
  const approvals = approvalsWith({});
  expect(answer(approvals, SEVEN)).toMatchObject({ code: 'malformed' });
  expect(approvals.call().phase).toBe('request');
  expect(() => approvals.start()).toThrow('not ready');
});

it('the same id gets the first verdict, with other content it is malformed; a second answer is too late', () => {
  const approvals = asked();
  const first = answer(approvals, { ...SEVEN, approver: 'ann', decisionId: 'd' });
  expect(answer(approvals, { ...SEVEN, approver: 'ann', decisionId: 'd' })).toEqual(first);
  expect(answer(approvals, { ...SEVEN, content: { age: 8 }, decisionId: 'd' })).toMatchObject({
    code: 'malformed',
  });
  const second = {
    accepted: false,
    code: 'already_decided',
    standing: { decision: 'answered', approver: 'ann' },
  };
  expect(answer(approvals, { ...SEVEN, decisionId: 'e' })).toMatchObject(second);
  // In the next run too.
  const next = new Calls(makeApprovals(carriedDecisions(approvals.state)));
  expect(answer(next, { ...SEVEN, decisionId: 'e' })).toMatchObject(second);
});

it('is expired at its deadline, whether its timer has fired or not', () => {
  const approvals = asked();
  expect(answer(approvals, SEVEN, 60_000)).toMatchObject({ code: 'expired' });
  approvals.do({ type: 'look' }, 60_000);
  expect(approvals.state.closings.get('1.1')).toBe('unanswered');
  expect(answer(approvals, SEVEN, 60_001)).toMatchObject({ code: 'expired' });
  expect(approvals.call()).toMatchObject({ result: { error: { code: 'expired' } } });
});

it('is closed with its turn', () => {
  const approvals = asked();
  approvals.do({ type: 'cancel' }, 5);
  expect(answer(approvals, SEVEN)).toMatchObject({ code: 'cancelled' });
});
