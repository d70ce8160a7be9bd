import { termsIn } from '../contract/control/confirmations';
import type { CastGrantVote, SaysOfGrant } from '../contract/control/grant-votes';
import type { GrantTerms } from '../contract/control/grants';
import { canonicalJson } from '../contract/digest';
import type { Approvers } from './approvers';
import { CLOCK_TOLERANCE, VOTE_FAULTS, type VoteJudgement } from './assurance';
import { GRANT_NAMESPACE, INBOX_GRANT_NAMESPACE, verifySshSignature } from './ssh-signature';

/** Where a grant holds. */
export interface GrantPlace {
  /** Of the approvers file. */
  installation: string;
  namespace: string;
}

/**
 * The text that is signed where somebody gives a grant, or confirms one: canonical JSON (RFC 8785). It says of itself that it
 * is one, so no reader of decisions takes it. A confirmation names who confirms and when beside all that the grant says.
 */
export function grantText(terms: GrantTerms, place: GrantPlace, says: SaysOfGrant = givenBy(terms)): string {
  const { installation, namespace } = place;
  const confirms = says.voter === terms.by ? {} : { confirmedBy: says.voter, confirmedAt: says.at };
  return canonicalJson({ v: 1, kind: 'grant', installation, namespace, ...termsIn(terms), ...confirms });
}

function givenBy({ by: voter, at }: GrantTerms): SaysOfGrant {
  return { voter, at };
}

/** What a worker knows by itself. */
export interface GrantJudge extends GrantPlace {
  approvers: Pick<Approvers, 'personOf' | 'keysOf' | 'inboxKeys'>;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * How sure it is that a vote on a grant is its voter's own. The file is today's: a key that was taken out counts no more.
 * Never throws, whatever grant and vote.
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
  const [from, to] = [Date.parse(at), Date.parse(until)];
  if (signature.at !== at || signature.notAfter !== until) return { ok: false, why: 'vote_changed' };
  if (from > now + CLOCK_TOLERANCE) return { ok: false, why: 'in_future' };
  if (!(to > now)) return { ok: false, why: 'expired' };
  const isOwn = signature.kind === 'ssh';
  const verdict = verifySshSignature({
    armored: signature.armored,
    message: Buffer.from(grantText(grant, place, { voter: name, at })),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? GRANT_NAMESPACE : INBOX_GRANT_NAMESPACE,
    requireTouch: true,
    moments: [from, now],
  });
  if (!verdict.ok) return { ok: false, why: verdict.why === 'unknown_key' ? 'key_removed' : verdict.why };
  const { fingerprint, isHardware } = verdict;
  return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
}

/** Why the signature on a grant does not count, in words. */
export function grantFault({ why }: Extract<VoteJudgement, { ok: false }>): string {
  return why === 'does_not_match' ? 'it is not a signature over this grant' : VOTE_FAULTS[why];
}
