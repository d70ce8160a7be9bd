import { type Assurance, ASSURANCES, type Authority, type DatedVote } from '../../contract/authority';
import { assuranceText, isAssured } from '../rules/stricter-rule';
import { countVotesUnder, stillNeededText } from './count-votes';
import { votingOf, WHY_NOT } from './voters';

/** How sure it is that the voter cast this vote. If the vote does not count: the reason in words. */
export type VoteProof = { assurance: Assurance; unchecked?: string } | { why: string };

/**
 * Counts only the votes that are proven. It strikes out the votes of people who may not vote, and the votes that prove
 * less than the rule wants.
 */
export function countProvenVotes<V extends DatedVote>(
  authority: Authority,
  votes: readonly V[],
  { proofOf, now }: { proofOf(vote: V): VoteProof; now: number },
) {
  const looked = votes.map((vote) => ({ vote, found: lookAt(authority, vote, proofOf) }));
  const struck = looked.flatMap(({ vote: { voter }, found }) =>
    'why' in found ? [{ voter, why: `the vote of ${voter} does not count: ${found.why}` }] : [],
  );
  const good = looked.flatMap(({ vote, found }) =>
    'why' in found || struck.some(({ voter }) => voter === vote.voter) ? [] : [{ ...vote, ...found }],
  );
  const count = countVotesUnder(authority, good, now);
  const assurance = ASSURANCES.find((one) => good.some((vote) => vote.assurance === one)) ?? 'claimed';
  const why = struck.length > 0 ? struck.map((one) => one.why).join('; ') : stillNeededText(authority, count);
  return {
    /** The voters whose votes do not count, and why. */
    struck,
    /** The count of the other votes. */
    count,
    /** The weakest assurance of a vote that counts. */
    assurance,
    /** Why the votes do not let the call run. Has no meaning if the votes let the call run. */
    why,
  };
}

/** The voter, and how sure it is that they cast the vote. Where the vote does not count, the reason. */
function lookAt<V extends DatedVote>(
  authority: Authority,
  vote: V,
  proofOf: (vote: V) => VoteProof,
): { voter: string; assurance: Assurance } | { why: string } {
  const voting = votingOf(authority, vote.voter, Date.parse(vote.at));
  if (!voting.ok) return { why: `${vote.voter} ${WHY_NOT[voting.why]}` };
  const proof = proofOf(vote);
  if ('why' in proof) return proof;
  const { assurance, unchecked } = proof;
  const { assurance: wanted } = authority.rule;
  if (isAssured(assurance, wanted)) return { voter: voting.voter, assurance };
  const has = unchecked ?? `it is ${assuranceText(assurance)}`;
  return { why: `${has}, and the rule wants it ${assuranceText(wanted)}` };
}

/** Why a signature does not count on a worker without an approvers file. */
export const UNCHECKED = 'this worker has no approvers file to check its signature by';
