import type { AwayAsked, AwayTerms } from '../contract/control/away';
import { canonicalJson } from '../contract/digest';
import { VOTE_FAULTS, type VoteJudgement } from './assurance';
import type { GrantPlace } from './grant-statement';
import { assuranceOfText, type TextJudge } from './signed-text';
import { AWAY_NAMESPACE, INBOX_AWAY_NAMESPACE } from './ssh-signature';

/**
 * The text that somebody signs to say that they are away: canonical JSON (RFC 8785). The text says that it is about an
 * out-of-office.
 */
export function awayText({ id, from, to, start, end, at }: AwayTerms, place: GrantPlace): string {
  const { installation, namespace } = place;
  return canonicalJson({ v: 1, kind: 'away', installation, namespace, id, from, to, start, end, at });
}

/** How sure it is that the absent person made the out-of-office entry themselves. Never throws, whatever the entry. */
export function assuranceOfAway(
  entry: AwayAsked,
  { approvers, now, ...place }: GrantPlace & TextJudge,
): VoteJudgement {
  const { signature, from: signer, at, end: until } = entry;
  return assuranceOfText(
    { signature, signer, at, until, text: awayText(entry, place) },
    { approvers, now, uses: { own: AWAY_NAMESPACE, inbox: INBOX_AWAY_NAMESPACE } },
  );
}

/** Why the signature on an out-of-office entry does not count, in words. */
export function awayFault({ why }: Extract<VoteJudgement, { ok: false }>): string {
  return why === 'does_not_match' ? 'it is not a signature over this' : VOTE_FAULTS[why];
}
