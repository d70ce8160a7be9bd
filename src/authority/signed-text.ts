import type { VoteSignature } from '../contract/decision';
import { type Judge, type KeyUses, verifySigned, type VoteJudgement } from './vote-signature';

/** The facts that the worker itself knows and checks a signature against. */
export type TextJudge = Omit<Judge, 'facts'>;

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

/**
 * How sure it is that the named person made a statement that holds until a time. The approvers file is the current one,
 * so a key that was removed from it no longer counts. Never throws.
 */
export function assuranceOfText(
  { signature, signer, text, at, until }: SignedText,
  { uses, ...judge }: TextJudge & { uses: KeyUses },
): VoteJudgement {
  if (signature === undefined) return { ok: true, assurance: 'claimed' };
  const voter = judge.approvers.personOf(signer);
  if (voter === undefined) return { ok: false, why: 'unknown_person' };
  if (signature.at !== at || signature.notAfter !== until) return { ok: false, why: 'vote_changed' };
  // The statement holds no more at its end.
  const [from, last] = [Date.parse(at), Date.parse(until) - 1];
  return verifySigned({ ...signature, voter, text, from, last, uses }, judge);
}
