import type { VoteSignature } from '../contract/decision';
import type { Approvers } from './approvers';
import { CLOCK_TOLERANCE, type VoteJudgement } from './assurance';
import { verifySshSignature } from './ssh-signature';

/** What a worker knows by itself. */
export interface TextJudge {
  approvers: Pick<Approvers, 'personOf' | 'keysOf' | 'inboxKeys'>;
  /** Milliseconds since 1970. */
  now: number;
}

/** What somebody says that holds for a while. */
interface SignedText {
  signature: VoteSignature | undefined;
  /** Who says it, by a name of the approvers file. */
  signer: string;
  /** What was signed, if all is as it seems. */
  text: string;
  /** When they said it, and until when it holds; ISO 8601. */
  at: string;
  until: string;
}

/** What signatures on it are made for: people's own, and those of web inboxes. */
interface Uses {
  own: string;
  inbox: string;
}

/**
 * How sure it is who says something that holds for a while. The file is today's: a key that was taken out counts no more.
 * Never throws.
 */
export function assuranceOfText(
  { signature, signer, text, at, until }: SignedText,
  { approvers, now, uses }: TextJudge & { uses: Uses },
): VoteJudgement {
  if (signature === undefined) return { ok: true, assurance: 'claimed' };
  const voter = approvers.personOf(signer);
  if (voter === undefined) return { ok: false, why: 'unknown_person' };
  const [from, to] = [Date.parse(at), Date.parse(until)];
  if (signature.at !== at || signature.notAfter !== until) return { ok: false, why: 'vote_changed' };
  if (from > now + CLOCK_TOLERANCE) return { ok: false, why: 'in_future' };
  if (!(to > now)) return { ok: false, why: 'expired' };
  const isOwn = signature.kind === 'ssh';
  const verdict = verifySshSignature({
    armored: signature.armored,
    message: Buffer.from(text),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? uses.own : uses.inbox,
    requireTouch: true,
    moments: [from, now],
  });
  if (!verdict.ok) return { ok: false, why: verdict.why === 'unknown_key' ? 'key_removed' : verdict.why };
  const { fingerprint, isHardware } = verdict;
  return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
}
