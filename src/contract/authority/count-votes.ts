import { type Authority, lackingText, standingUnder, votingOf, WHY_NOT } from './authority';
import { type Assurance, ASSURANCES, assuranceText, type CastVote, isAssured, type Standing } from './votes';

/** How sure it is that a vote is its voter's own; or, in words, why it does not count. */
export type VoteProof = { assurance: Assurance; unchecked?: string } | { why: string };

/** Votes, as a worker finds them. */
export interface CountedVotes {
  /** Whose votes do not count, and why. */
  struck: { voter: string; why: string }[];
  /** By those that do. */
  standing: Standing;
  /** How sure the least sure of those is. */
  assurance: Assurance;
  /** Why they do not let it run, where they do not. */
  why: string;
}

/** Strikes out the votes of those who may not vote, and those that prove less than the rule wants, and counts the others. */
export function countVotes<V extends CastVote>(
  authority: Authority,
  votes: readonly V[],
  proofOf: (vote: V) => VoteProof,
): CountedVotes {
  const looked = votes.map((vote) => ({ vote, found: lookAt(authority, vote, proofOf) }));
  const struck = looked.flatMap(({ vote: { voter }, found }) =>
    'why' in found ? [{ voter, why: `the vote of ${voter} does not count: ${found.why}` }] : [],
  );
  const good = looked.flatMap(({ vote, found }) =>
    'why' in found || struck.some(({ voter }) => voter === vote.voter) ? [] : [{ ...vote, ...found }],
  );
  const standing = standingUnder(authority, good);
  const assurance = ASSURANCES.find((one) => good.some((vote) => vote.assurance === one)) ?? 'claimed';
  const why = struck.length > 0 ? struck.map((one) => one.why).join('; ') : lackingText(authority, standing);
  return { struck, standing, assurance, why };
}

/** Whose vote it is, and how sure; or why it does not count. */
function lookAt<V extends CastVote>(
  authority: Authority,
  vote: V,
  proofOf: (vote: V) => VoteProof,
): { voter: string; assurance: Assurance } | { why: string } {
  const voting = votingOf(authority, vote.voter, vote.inPlaceOf);
  if (!voting.ok) return { why: `${vote.voter} ${WHY_NOT[voting.why]}` };
  const proof = proofOf(vote);
  if ('why' in proof) return proof;
  const { assurance, unchecked } = proof;
  const { assurance: wanted } = authority.rule;
  if (isAssured(assurance, wanted)) return { voter: voting.voter, assurance };
  const has = unchecked ?? `it is ${assuranceText(assurance)}`;
  return { why: `${has}, and the rule wants it ${assuranceText(wanted)}` };
}

/** What is said of a signature where nobody can check it. */
export const UNCHECKED = 'this worker has no approvers file to check its signature by';
