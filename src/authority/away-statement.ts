import { type Assurance, assuranceText, isAssured } from '../contract/authority/rule';
import type { AwayAsked, AwayTerms } from '../contract/control/away';
import { canonicalJson } from '../contract/digest';
import { VOTE_FAULTS, type VoteJudgement } from './vote-signature';
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
  return why === 'vote_changed' ? VOTE_FAULTS.does_not_match : VOTE_FAULTS[why];
}

/** Who votes in whose place, by their names in the approvers file. */
interface Seat {
  voter: string;
  person: string;
}

/** Why an entry does not let somebody vote in a person's place, whatever its time. Undefined: it does. */
export function whyNotTheirs(
  { from, to }: Pick<AwayTerms, 'from' | 'to'>,
  { voter, person, nameOf }: Seat & { nameOf(name: string): string | undefined },
): string | undefined {
  if (nameOf(from) !== person) return `it names the out-of-office of ${from}`;
  if (nameOf(to) !== voter) return `while ${person} is away, ${to} votes in their place`;
  return undefined;
}

/** Why an entry is not as sure as the rule wants the vote. Undefined: it is. */
export function whyUnsure(from: string, has: Assurance, wanted: Assurance): string | undefined {
  if (isAssured(has, wanted)) return undefined;
  return `that ${from} is away is ${assuranceText(has)}, and the rule wants it ${assuranceText(wanted)}`;
}
