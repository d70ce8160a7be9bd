import { termsIn } from '../contract/control/confirmations';
import type { CastGrantVote, SaysOfGrant } from '../contract/control/grant-votes';
import type { GrantTerms } from '../contract/control/grants';
import { canonicalJson } from '../contract/digest';
import { VOTE_FAULTS, type VoteJudgement } from './vote-signature';
import { assuranceOfText, type TextJudge } from './signed-text';
import { GRANT_NAMESPACE, INBOX_GRANT_NAMESPACE } from './ssh-signature';

/** The installation and the namespace in which a grant holds. */
export interface GrantPlace {
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
export interface GrantJudge extends GrantPlace, TextJudge {}

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
  return assuranceOfText(
    { signature, signer: name, at, until, text: signedGrantText(grant, place, { voter: name, at }) },
    { approvers, now, uses: { own: GRANT_NAMESPACE, inbox: INBOX_GRANT_NAMESPACE } },
  );
}

/** Why the signature on a grant does not count, in words. */
export function grantFault({ why }: Extract<VoteJudgement, { ok: false }>): string {
  return why === 'does_not_match' ? 'it is not a signature over this grant' : VOTE_FAULTS[why];
}
