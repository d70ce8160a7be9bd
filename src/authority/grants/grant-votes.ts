import { votingOf, WHY_NOT, whyMayNot } from '../votes/voters';
import { countVotesUnder, stillNeededText } from '../votes/count-votes';
import type { Of } from '../../contract/schema/shape';
import type { GRANT_ASKED, GRANT_CONFIRMATION } from './grant-schemas';
import type { DatedVote, Authority } from '../../contract/authority';

/** The vote of one more person who allows a grant. */
export interface GrantVote extends Of<typeof GRANT_CONFIRMATION> {}

/** The person who allows a grant, and when they said so. */
export type SaysOfGrant = Pick<GrantVote, 'voter' | 'at'>;

/** The people who allow a grant. */
export interface GrantVotes extends Pick<Of<typeof GRANT_ASKED>, 'by' | 'at' | 'signature' | 'authority'> {
  /** The votes of the people who confirmed the grant. */
  confirmed?: readonly GrantVote[];
}

/** A vote on a grant. The giver cast theirs with the grant itself. */
export type CastGrantVote = DatedVote & Pick<GrantVote, 'signature'> & { seenDigest?: string };

/** All votes on a grant. The giver's vote comes first. */
export function votesOn({ by, at, signature, confirmed = [] }: GrantVotes): CastGrantVote[] {
  const given = { voter: by, at, signature };
  return [given, ...confirmed].map((vote) => ({ ...vote, decision: 'approved' }));
}

/** The count of the votes on a grant, under the authority of its request. Undefined: the giver's vote was enough. */
function grantStanding(grant: GrantVotes, now: number) {
  return grant.authority && countVotesUnder(grant.authority, votesOn(grant), now);
}

/** The people who have to confirm a grant before it allows a call, in words. Undefined: nobody has to. */
export function lackingOn(grant: GrantVotes, now: number): string | undefined {
  const { authority } = grant;
  const standing = grantStanding(grant, now);
  if (authority === undefined || standing === undefined || standing.state === 'approved') return undefined;
  return stillNeededText(authority, standing);
}

/** The voter whom a name means when that person confirms a grant now, or why they cannot confirm it. */
export function confirmerOf(
  grant: GrantVotes,
  { name, now }: { name: string; now: number },
): { voter: string } | { why: string } {
  const { authority, by } = grant;
  if (authority === undefined) return { why: 'nobody has to confirm it: who gave it was enough' };
  const voting = votingOf(authority, name, now);
  if (!voting.ok)
    return { why: whyMayNot(authority, { approver: name, now }, votesOn(grant)) ?? `${name} may not` };
  if (voting.voter === by) return { why: `${by} gave it, so it takes somebody else` };
  return { voter: voting.voter };
}

/**
 * The voter whom a name means when that person gives a grant now, and the authority that has to confirm it if the giver
 * alone is not enough. Or why that person cannot give it.
 */
export function giverOf(
  authority: Authority,
  { name, now }: { name: string; now: number },
): { by: string; authority?: Authority } | { why: string } {
  // People who may decide only because of an escalation may not give a grant.
  const { escalated: _, ...asMade } = authority;
  const voting = votingOf(asMade, name, now);
  if (!voting.ok) return { why: `${name} may not give it: ${name} ${WHY_NOT[voting.why]}` };
  const by = voting.voter;
  const standing = grantStanding({ by, at: new Date(now).toISOString(), authority: asMade }, now);
  if (standing?.state === 'approved') return { by };
  if (standing?.isStuck !== true) return { by, authority: asMade };
  return { why: `the rule '${authority.rule.name}' needs more people than may decide` };
}
