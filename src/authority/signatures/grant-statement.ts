import { termsIn } from '../grants/confirmations';
import type { CastGrantVote, SaysOfGrant } from '../grants/grant-votes';
import type { GrantTerms } from '../grants/grant';
import { canonicalJson } from '../../contract/digest';
import { type Judge, VOTE_FAULTS, type VoteJudgement, verifySigned } from './vote-signature';
import { GRANT_NAMESPACE, INBOX_GRANT_NAMESPACE } from './ssh-signature';

/** The installation and the namespace in which a grant holds. */
interface GrantPlace {
  /** The `installation` of the approvers file. */
  installation: string;
  namespace: string;
}

/**
 * The text that somebody signs to give or confirm a grant: canonical JSON (RFC 8785). The text says that it is a grant,
 * so a check of decisions never accepts it. The text of a confirmation has all terms of the grant, and also the person
 * who confirms it and the time.
 */
export function signedGrantText(
  terms: GrantTerms,
  place: GrantPlace,
  says: SaysOfGrant = givenBy(terms),
): string {
  const { installation, namespace } = place;
  const confirms = says.voter === terms.by ? {} : { confirmedBy: says.voter, confirmedAt: says.at };
  return canonicalJson({ v: 1, kind: 'grant', installation, namespace, ...termsIn(terms), ...confirms });
}

/** The person who gives a grant, and when. */
export function givenBy({ by: voter, at }: GrantTerms): SaysOfGrant {
  return { voter, at };
}

/** The facts that the worker itself knows and checks a vote on a grant against. */
interface GrantJudge extends GrantPlace, Omit<Judge, 'facts'> {}

/**
 * How sure it is that a vote on a grant is the voter's own. The approvers file is the current one, so a key that was
 * removed from it no longer counts. Never throws, whatever the grant and the vote.
 */
export function assuranceOfGrant(
  grant: GrantTerms,
  { voter: name, at, signature }: Omit<CastGrantVote, 'decision'>,
  { approvers, now, ...place }: GrantJudge,
): VoteJudgement {
  const { until } = grant;
  if (signature === undefined) return { ok: true, assurance: 'claimed' };
  const voter = approvers.personOf(name);
  if (voter === undefined) return { ok: false, why: 'unknown_person' };
  if (signature.at !== at || signature.notAfter !== until) return { ok: false, why: 'vote_changed' };
  const text = signedGrantText(grant, place, { voter: name, at });
  // The grant holds no more at its end.
  const [from, last] = [Date.parse(at), Date.parse(until) - 1];
  const uses = { own: GRANT_NAMESPACE, inbox: INBOX_GRANT_NAMESPACE };
  return verifySigned({ ...signature, voter, text, from, last, uses }, { approvers, now });
}

/** Why the signature on a grant does not count, in words. */
export function grantFault({ why }: Extract<VoteJudgement, { ok: false }>): string {
  return why === 'does_not_match' ? 'it is not a signature over this grant' : VOTE_FAULTS[why];
}
