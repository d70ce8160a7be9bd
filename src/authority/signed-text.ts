import { createHash } from 'node:crypto';
import type { VoteSignature } from '../contract/decision';
import { TIMES } from '../contract/limits';
import { type Judge, passkeyFault, sshFault, type VoteJudgement } from './vote-signature';
import { verifyPasskey } from './passkeys/passkey';
import { verifySshSignature } from './ssh-signature';

/** The facts that the worker itself knows and checks a signature against. */
export interface TextJudge {
  approvers: Judge['approvers'];
  /** Milliseconds since 1970. */
  now: number;
}

/** A statement of a person that holds until a time. */
interface SignedText {
  signature: VoteSignature | undefined;
  /** The person who makes the statement: a name of the approvers file. */
  signer: string;
  /** The text that must have been signed. */
  text: string;
  /** The time of the statement, and the time until which it holds, in ISO 8601. */
  at: string;
  until: string;
}

/** The namespaces that signatures on the text must have: for people's own keys, and for keys of web inboxes. */
interface Uses {
  own: string;
  inbox: string;
}

/**
 * How sure it is that the named person made a statement that holds until a time. The approvers file is the current one,
 * so a key that was removed from it no longer counts. Never throws.
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
  if (from > now + TIMES.clockSkew) return { ok: false, why: 'in_future' };
  if (!(to > now)) return { ok: false, why: 'expired' };
  if (signature.kind === 'passkey') return byPasskey(signature.armored, text, { voter, approvers });
  const isOwn = signature.kind === 'ssh';
  const verdict = verifySshSignature({
    armored: signature.armored,
    message: Buffer.from(text),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? uses.own : uses.inbox,
    requireTouch: true,
    moments: [from, now],
  });
  if (!verdict.ok) return { ok: false, why: sshFault(verdict, { voter, isOwn, approvers }) };
  const { fingerprint, isHardware } = verdict;
  return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
}

/**
 * Checks a signature by a passkey. A passkey has no namespace, but each text says what it is about. As with votes, a
 * passkey does not protect against the web server, whose page chooses the text. So the statement is `signed`, never
 * `signed_ssh`.
 */
function byPasskey(
  assertion: string,
  text: string,
  { voter, approvers }: { voter: string; approvers: TextJudge['approvers'] },
): VoteJudgement {
  const verdict = verifyPasskey({
    assertion,
    challenge: createHash('sha256').update(text).digest(),
    passkeys: approvers.passkeysOf(voter),
    site: approvers.passkeySite,
  });
  if (verdict.ok) return { ok: true, assurance: 'signed', voter, fingerprint: verdict.fingerprint };
  return { ok: false, why: passkeyFault(verdict, { voter, approvers }) };
}
