import { type Authority, votingOf, whyMayNot } from '../authority/authority';
import type { CastVote } from '../authority/votes';
import { countVotesUnder, stillNeededText, type VoteCount } from '../authority/votes-needed';
import type { VoteSignature } from '../decision';

/** One more person allows what a grant says. */
export interface GrantVote {
  /** By their name in the approvers file. */
  voter: string;
  /** When they said so, by their own clock; ISO 8601. */
  at: string;
  /** Of the terms that they were shown. */
  seenDigest: string;
  /** Only the worker can say whether it counts. */
  signature?: VoteSignature;
}

/** Who says that they allow a grant, and when. */
export type SaysOfGrant = Pick<GrantVote, 'voter' | 'at'>;

/** Whoever allows a grant. */
export interface GrantVotes {
  /** Who gives it. */
  by: string;
  at: string;
  signature?: VoteSignature;
  /**
   * Who decides the calls whose place it takes, as their request said, where that is more than one person: it covers nothing
   * until they confirmed it. The worker goes by its own file.
   */
  authority?: Authority;
  /** Who allowed the same beside who gave it. */
  confirmed?: readonly GrantVote[];
}

/** A vote on a grant. That of who gives it was cast with the grant itself. */
export type CastGrantVote = CastVote & Pick<GrantVote, 'at' | 'signature'> & { seenDigest?: string };

/** The votes on a grant, its giver's first. */
export function votesOn({ by, at, signature, confirmed = [] }: GrantVotes): CastGrantVote[] {
  const given = { voter: by, at, ...(signature === undefined ? {} : { signature }) };
  return [given, ...confirmed].map((vote) => ({ ...vote, decision: 'approved' }));
}

/** How a grant stands by what its request said of who decides; undefined: who gave it was enough. */
export function grantStanding(grant: GrantVotes): VoteCount | undefined {
  return grant.authority && countVotesUnder(grant.authority, votesOn(grant));
}

/** Who has to confirm a grant before it allows a call, in words; undefined: nobody. */
export function lackingOn(grant: GrantVotes): string | undefined {
  const { authority } = grant;
  const standing = grantStanding(grant);
  if (authority === undefined || standing === undefined || standing.state === 'approved') return undefined;
  return stillNeededText(authority, standing);
}

/** Whose vote it is where somebody of this name confirms a grant; or why nobody's. */
export function confirmerOf(grant: GrantVotes, name: string): { voter: string } | { why: string } {
  const { authority, by } = grant;
  if (authority === undefined) return { why: 'nobody has to confirm it: who gave it was enough' };
  const voting = votingOf(authority, name);
  if (!voting.ok)
    return { why: whyMayNot(authority, { approver: name }, votesOn(grant)) ?? `${name} may not` };
  if (voting.voter === by) return { why: `${by} gave it, so it takes somebody else` };
  return { voter: voting.voter };
}
