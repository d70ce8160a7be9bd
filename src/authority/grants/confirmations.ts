import { digestJson } from '../../contract/digest';
import { LIMITS, TIMES } from '../../contract/limits';
import type { Of } from '../../contract/schema/shape';
import type { CONFIRM_ASKED } from './grant-schemas';
import { confirmerOf, type GrantVote } from './grant-votes';
import {
  type Grant,
  type GrantRefused,
  type GrantTerms,
  noGrantText,
  refuseGrant,
  whyEnded,
  whyFull,
} from './grant';

export interface ConfirmAsked extends Of<typeof CONFIRM_ASKED> {}

/** Returns the terms of a grant without its other fields. */
export function termsIn(grant: GrantTerms): GrantTerms {
  const { id, agent, tool, toolDigest, ruleDigest, policyDigest, narrowing, times, until, at, by } = grant;
  return { id, agent, tool, toolDigest, ruleDigest, policyDigest, narrowing, times, until, at, by };
}

/** The digest of the terms that a person who confirms a grant was shown. */
export function termsDigest(grant: GrantTerms): string {
  return digestJson(termsIn(grant));
}

/** Adds the vote of one more person to a grant. Only the last vote of each person is kept. */
export function confirmGrant(grant: Grant, { id, ...vote }: ConfirmAsked, now: number): Grant | GrantRefused {
  if (id !== grant.id) return refuseGrant('not_found', noGrantText(id));
  const confirmer = confirmerOf(grant, { name: vote.voter, now });
  if ('why' in confirmer) return refuseGrant('refused', confirmer.why);
  const why = whyNotTaken(grant, vote, now);
  if (why !== undefined) return refuseGrant('refused', why);
  const { voter } = confirmer;
  const taken = { ...vote, voter };
  const { confirmed = [] } = grant;
  if (confirmed.some((one) => JSON.stringify(one) === JSON.stringify(taken))) return grant;
  const others = confirmed.filter((one) => one.voter !== voter);
  if (others.length >= LIMITS.grantVotes)
    return refuseGrant('full', `${LIMITS.grantVotes} people confirmed it already, which is the most`);
  const next: Grant = { ...grant, confirmed: [...others, taken] };
  return whyFull(next) ?? next;
}

function whyNotTaken(grant: Grant, { at, seenDigest }: GrantVote, now: number) {
  if (seenDigest !== termsDigest(grant)) return 'there is another grant of this id than the one shown';
  const ended = whyEnded(grant, now);
  if (ended !== undefined) return ended;
  const isAhead = Date.parse(at) > now + TIMES.clockSkew;
  return isAhead ? 'it is dated in the future: the clock of who confirms it is wrong' : undefined;
}
