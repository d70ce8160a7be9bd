import type { GrantAsked, GrantTerms } from '../contract/control/grants';
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
 * The text that is signed where somebody gives a grant: canonical JSON (RFC 8785). It says of itself that it is one, so no
 * reader of decisions takes it.
 */
export function grantText(terms: GrantTerms, { installation, namespace }: GrantPlace): string {
  const { id, agent, tool, toolDigest, ruleDigest, policyDigest, narrowing, times, until, at, by } = terms;
  return canonicalJson({
    ...{
      v: 1,
      kind: 'grant',
      installation,
      namespace,
      id,
      agent,
      tool,
      toolDigest,
      ruleDigest,
      policyDigest,
    },
    ...{ narrowing, times, until, at, by },
  });
}

/** What a worker knows by itself. */
export interface GrantJudge extends GrantPlace {
  approvers: Pick<Approvers, 'personOf' | 'keysOf' | 'inboxKeys'>;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * How sure it is that a grant is its giver's own. The file is today's: a key that was taken out counts no more. Never throws,
 * whatever the grant.
 */
export function assuranceOfGrant(
  grant: GrantTerms & Pick<GrantAsked, 'signature'>,
  { approvers, now, ...place }: GrantJudge,
): VoteJudgement {
  const { signature, by, at, until } = grant;
  if (signature === undefined) return { ok: true, assurance: 'claimed' };
  const voter = approvers.personOf(by);
  if (voter === undefined) return { ok: false, why: 'unknown_person' };
  const [from, to] = [Date.parse(at), Date.parse(until)];
  if (signature.at !== at || signature.notAfter !== until) return { ok: false, why: 'vote_changed' };
  if (from > now + CLOCK_TOLERANCE) return { ok: false, why: 'in_future' };
  if (!(to > now)) return { ok: false, why: 'expired' };
  const isOwn = signature.kind === 'ssh';
  const verdict = verifySshSignature({
    armored: signature.armored,
    message: Buffer.from(grantText(grant, place)),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? GRANT_NAMESPACE : INBOX_GRANT_NAMESPACE,
    requireTouch: true,
    moments: [from, now],
  });
  if (!verdict.ok) return { ok: false, why: verdict.why === 'unknown_key' ? 'key_removed' : verdict.why };
  const { fingerprint, isHardware } = verdict;
  return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
}

/** Why the signature of a grant does not count, in words. */
export function grantFault({ why }: Extract<VoteJudgement, { ok: false }>): string {
  return why === 'does_not_match' ? 'it is not a signature over this grant' : VOTE_FAULTS[why];
}
