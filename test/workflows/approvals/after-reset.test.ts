import { isVoidAfterReset, takeReset } from '../../../src/workflows/approvals/after-reset';
import { judgeDecision } from '../../../src/workflows/approvals/judge-decision';
import type { Approvals, CallState, Phase } from '../../../src/workflows/approvals/state';
import { approvalsWith } from '../../support/calls';
import { rule } from '../../authority/votes/support';
import type { Vote } from '../../../src/contract/authority';

const authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [] },
  rule: { name: 'pay', then: 'ask' as const, ...rule({ rosters: [['ann', 'ben']], need: 2 }) },
};
const SEEN = 'a'.repeat(64);
const vote: Vote = { voter: 'ann', decision: 'approved', decisionId: 'd-ann', at: '', seenDigest: SEEN };

/** A call of a rule with one vote, or of a gate that was decided on. */
const callWith = (change: (state: CallState) => void): { approvals: Approvals; state: CallState } => {
  const approvals = approvalsWith({});
  const state = approvals.calls.get('1.1');
  if (state === undefined) throw new Error('no call');
  change(state);
  return { approvals, state };
};

const ofRule = (state: CallState): void => {
  state.call = { ...state.call, authority };
  state.votes = [vote];
};

const ofGate = (phase: Phase, effect: 'unsafe' | 'idempotent', gate = { activity: 'pay' }) => {
  return (state: CallState): void => {
    state.call = { ...state.call, settings: { ...state.call.settings, effect, gate } };
    state.phase = phase;
  };
};

it('votes from before a reset do not count, and the request says so', () => {
  const { approvals, state } = callWith(ofRule);
  takeReset(approvals, 5);
  expect(state.votes).toBeUndefined();
  expect(state.note).toBe('the votes from before the reset do not count');
});

it('a vote from before a reset is refused if its message is sent once more', () => {
  const { approvals } = callWith(ofRule);
  const message = { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest: SEEN };
  const judged = judgeDecision(approvals, message, 1);
  const digest = judged.kind === 'take' ? judged.contentDigest : '';
  const accepted = { accepted: true, decisionId: 'd-ann', callId: '1.1', at: '' } as const;
  const verdict = { ...accepted, decision: 'approved', approver: 'ann' } as const;
  approvals.verdicts.set('d-ann', { digest, verdict });
  takeReset(approvals, 5);
  expect(approvals.verdicts.get('d-ann')?.verdict).toMatchObject({ accepted: false, code: 'stale_args' });
});

it.each<[Phase, 'unsafe' | 'idempotent', Phase]>([
  ['ready', 'unsafe', 'in_doubt'],
  ['running', 'unsafe', 'in_doubt'],
  ['request', 'unsafe', 'request'],
  ['running', 'idempotent', 'running'],
])('a call of a gate that is %s and %s is %s after a reset', (phase, effect, after) => {
  const { approvals, state } = callWith(ofGate(phase, effect));
  takeReset(approvals, 5);
  expect(state.phase).toBe(after);
});

it.each<[string, (state: CallState) => void, boolean]>([
  ['of a gate', ofGate('request', 'idempotent'), true],
  ['of a rule', ofRule, true],
  ['that anybody may decide', () => undefined, false],
])('a decision that a reset applies again is void for a call %s', (_, change, isVoid) => {
  expect(isVoidAfterReset(callWith(change).state)).toBe(isVoid);
});
