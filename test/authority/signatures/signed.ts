import {
  type SignedCallFacts,
  type Statement,
  statementOf,
} from '../../../src/authority/signatures/statement';

type SignableVote = Parameters<typeof statementOf>[1];

/** The moment at which the votes of these tests were given. */
export const AT = Date.UTC(2026, 10, 24, 12);

/** A call, as its worker knows it. */
export const FACTS: SignedCallFacts = {
  installation: 'ab'.repeat(16),
  namespace: 'default',
  workflowId: 'turn-1',
  runId: '01937c3e-0000-7000-8000-000000000001',
  callKey: 'reply-1:1.1',
  generation: 0,
  agent: 'clerk',
  tool: 'refund_order',
  toolDigest: '1'.repeat(64),
  seenDigest: '2'.repeat(64),
  effectiveDigest: '3'.repeat(64),
  ruleDigest: '4'.repeat(64),
  requesters: ['bob', 'carl'],
};

/** Approved, without a reason. */
export const VOTE: SignableVote = {
  decisionId: 'd-1',
  decision: 'approved',
  approver: 'anna',
  at: new Date(AT).toISOString(),
  notAfter: new Date(AT + 3_600_000).toISOString(),
};

/** What was signed, in place of `FACTS` and `VOTE`. */
export interface Signed {
  facts?: Partial<SignedCallFacts>;
  words?: Partial<SignableVote>;
}

export function statementWith({ facts, words }: Signed): Statement {
  const made = statementOf({ ...FACTS, ...facts }, { ...VOTE, ...words });
  if (made === undefined) throw new Error('not a statement');
  return made;
}
