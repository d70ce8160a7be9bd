import { z } from 'zod';
import type { Approvers } from './approvers';
import { PASSKEY_FAULTS, type PasskeyFault, type PasskeyVerdict, verifyPasskey } from './passkeys/passkey';
import {
  INBOX_NAMESPACE,
  SIGNATURE_NAMESPACE,
  SSH_FAULTS,
  type SshFault,
  type SshVerdict,
  verifySshSignature,
} from './ssh-signature';
import {
  type SignedCallFacts,
  readStatement,
  SIGNED_DECISIONS,
  type Statement,
  statementDigest,
  statementOf,
  statementText,
} from './statement';
import type { Vote } from '../contract/authority/authority';
import type { Assurance } from '../contract/authority/rule';
import { SIGNATURE_KINDS } from '../contract/decision';
import { TIMES } from '../contract/limits';

const signature = z.strictObject({
  kind: z.enum(SIGNATURE_KINDS),
  armored: z.string(),
  /**
   * The text that was signed. It proves nothing. If the signature does not match, the text shows which field differs.
   */
  statement: z.string().optional(),
});

const voteSchema = z.object({
  decision: z.enum(SIGNED_DECISIONS),
  reason: z.string().optional(),
  /** A person of the approvers file, by name or mail. The signature is over the name as it is written here. */
  approver: z.string(),
  inPlaceOf: z.object({ person: z.string(), entry: z.string() }).optional(),
  at: z.string(),
  /** Required with a signature. */
  notAfter: z.string().optional(),
  /** The digest of what the person saw. Required with a signature. */
  seenDigest: z.string().optional(),
  signature: signature.optional(),
});

/** A vote as it arrived. */
export type SentVote = z.input<typeof voteSchema>;

/** Converts a kept vote into the form in which votes are judged. */
export function judgedVote(vote: Vote): SentVote {
  const { voter: approver, at: takenAt, runsAgain, signature: signed, ...said } = vote;
  const decision = runsAgain === true ? ('run-again' as const) : vote.decision;
  const { reason, inPlaceOf, seenDigest } = said;
  const { at = takenAt, notAfter, kind, armored, statement } = signed ?? {};
  const signature = kind === undefined || armored === undefined ? undefined : { kind, armored, statement };
  return { decision, reason, approver, inPlaceOf, at, notAfter, seenDigest, signature };
}

/** The reasons why a signed vote does not count, each with its meaning in words. */
export const VOTE_FAULTS = {
  ...PASSKEY_FAULTS,
  ...SSH_FAULTS,
  malformed: 'the vote or its signature is not in its form',
  unknown_person: 'the approver is not in the approvers file',
  key_removed: SSH_FAULTS.unknown_key,
  key_revoked: 'its key is revoked in the approvers file',
  other_persons_key: "it was made with somebody else's key",
  wrong_installation: 'it was made for another installation',
  wrong_turn: 'it was made for another turn, or for another namespace or cluster',
  wrong_call: 'it was made for another call',
  wrong_generation: 'it was made for an earlier or later run of this call',
  tool_changed: 'it was made for another version of the tool',
  wrong_arguments: 'it was made for other arguments, or over another preview',
  rule_changed: 'it was made under another rule',
  wrong_requesters: 'it names other people as those who asked',
  vote_changed: 'the vote says something else than what was signed',
  in_future: 'it is dated more than 10 minutes in the future',
  expired: 'it has expired',
} as const;
/**
 * The reasons that a judgement of a vote uses. A key that is not listed is `key_removed`, `key_revoked` or
 * `other_persons_key`.
 */
export type VoteFault = Exclude<keyof typeof VOTE_FAULTS, 'unknown_key'>;

/**
 * How sure it is that a vote is the approver's own, or why the vote does not count. A vote with a bad signature is
 * refused: it is not treated as an unsigned vote.
 */
export type VoteJudgement =
  | { ok: true; assurance: Assurance; voter?: string; fingerprint?: string; isHardware?: boolean }
  | { ok: false; why: VoteFault };

type PasskeyParts = 'passkeysOf' | 'passkeySite' | 'ownerOfPasskey';

/** The facts that the worker itself knows and checks a vote against. */
export interface Judge {
  facts: SignedCallFacts;
  approvers: Pick<Approvers, 'personOf' | 'keysOf' | 'ownerOf' | 'inboxKeys' | 'revoked' | PasskeyParts>;
  /** Milliseconds since 1970, by the worker's clock. */
  now: number;
}

/**
 * How sure it is that a vote is the approver's own. Whether the approver may vote is not checked here. The approvers
 * file is the current one, so a key that was removed from it no longer counts. Never throws, whatever the vote.
 */
export function assuranceOf(vote: unknown, judge: Judge): VoteJudgement {
  const read = voteSchema.safeParse(vote);
  if (!read.success) return bad('malformed');
  const { signature: signed, approver, at, notAfter } = read.data;
  if (signed === undefined) return { ok: true, assurance: 'claimed' };
  const voter = judge.approvers.personOf(approver);
  if (voter === undefined) return bad('unknown_person');
  if (notAfter === undefined) return bad('malformed');
  const { facts } = judge;
  const { decision, reason = '', inPlaceOf, seenDigest } = read.data;
  const expected = statementOf(facts, { decision, reason, approver, inPlaceOf, at, notAfter });
  if (expected === undefined) return bad('malformed');
  if (seenDigest !== facts.seenDigest)
    return bad(differenceFrom(expected, signed.statement) ?? 'wrong_arguments');
  return (
    checkTimes(expected, judge.now) ??
    CHECKS[signed.kind](signed, { expected, voter, judge, at: Date.parse(at) })
  );
}

function bad(why: VoteFault): { ok: false; why: VoteFault } {
  return { ok: false, why };
}

function checkTimes({ at, notAfter }: Statement, now: number): { ok: false; why: VoteFault } | undefined {
  const [from, to] = [Date.parse(at), Date.parse(notAfter)];
  if (to < from) return bad('malformed');
  if (from > now + TIMES.clockSkew) return bad('in_future');
  return to + TIMES.clockSkew < now ? bad('expired') : undefined;
}

interface Expected {
  expected: Statement;
  voter: string;
  at: number;
  judge: Judge;
}

type Signature = z.output<typeof signature>;
type Check = (signed: Signature, expected: Expected) => VoteJudgement;

const CHECKS: Readonly<Record<Signature['kind'], Check>> = {
  ssh: checkSsh,
  inbox: checkSsh,
  passkey: checkPasskey,
};

/**
 * A passkey proves that the person decided. It does not protect against the web server, whose page chooses the text to
 * sign. So the vote is `signed`, never `signed_ssh`.
 */
function checkPasskey(
  { armored, statement }: Signature,
  { expected, voter, judge: { approvers } }: Expected,
): VoteJudgement {
  const verdict = verifyPasskey({
    assertion: armored,
    challenge: Buffer.from(statementDigest(expected), 'hex'),
    passkeys: approvers.passkeysOf(voter),
    site: approvers.passkeySite,
  });
  if (verdict.ok) return { ok: true, assurance: 'signed', voter, fingerprint: verdict.fingerprint };
  if (verdict.why === 'does_not_match') return bad(differenceFrom(expected, statement) ?? 'does_not_match');
  return bad(passkeyFault(verdict, { voter, approvers }));
}

function checkSsh(
  { kind, armored, statement }: Signature,
  { expected, voter, at, judge: { approvers, now } }: Expected,
): VoteJudgement {
  const isOwn = kind === 'ssh';
  const verdict = verifySshSignature({
    armored,
    message: Buffer.from(statementText(expected)),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? SIGNATURE_NAMESPACE : INBOX_NAMESPACE,
    requireTouch: true,
    // Both times are checked: somebody could use an expired key with an older date.
    moments: [at, now],
  });
  if (verdict.ok) {
    const { fingerprint, isHardware } = verdict;
    return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
  }
  if (verdict.why === 'does_not_match') return bad(differenceFrom(expected, statement) ?? 'does_not_match');
  return bad(sshFault(verdict, { voter, isOwn, approvers }));
}

/** The person who is named as the signer, and the file that lists keys. */
interface Signer {
  voter: string;
  approvers: Judge['approvers'];
}

/** The fault of an SSH signature. `isOwn`: it should be by a key of the signer, and not by one of a web inbox. */
export function sshFault(
  { why, fingerprint: mark }: Extract<SshVerdict, { ok: false }>,
  { isOwn, ...signer }: Signer & { isOwn: boolean },
): VoteFault {
  const owner = isOwn && mark !== undefined ? signer.approvers.ownerOf(mark) : undefined;
  return faultOf(why, { ...signer, mark, owner });
}

/** The fault of a signature by a passkey. */
export function passkeyFault(
  { why, id: mark }: Extract<PasskeyVerdict, { ok: false }>,
  signer: Signer,
): VoteFault {
  const owner = mark === undefined ? undefined : signer.approvers.ownerOfPasskey(mark);
  return faultOf(why, { ...signer, mark, owner });
}

/** What is known about the key of a signature. */
interface Listing extends Signer {
  /** The fingerprint or the passkey id that names the key. Undefined: nothing names the key. */
  mark: string | undefined;
  /** The person whom the key belongs to. */
  owner: string | undefined;
}

/** The fault of a signature. A key that is not one of the signer's is revoked, another person's, or listed nowhere. */
function faultOf(why: SshFault | PasskeyFault, { mark, owner, voter, approvers }: Listing): VoteFault {
  if (why !== 'unknown_key') return why;
  if (mark !== undefined && approvers.revoked.since(mark) !== undefined) return 'key_revoked';
  return owner !== undefined && owner !== voter ? 'other_persons_key' : 'key_removed';
}

/** Each field with the fault that a difference in it means. The most important field comes first. */
const FIELDS: readonly [keyof Statement, VoteFault][] = [
  ['installation', 'wrong_installation'],
  ['namespace', 'wrong_turn'],
  ['workflowId', 'wrong_turn'],
  ['firstExecutionRunId', 'wrong_turn'],
  ['callKey', 'wrong_call'],
  ['agent', 'wrong_call'],
  ['tool', 'wrong_call'],
  ['generation', 'wrong_generation'],
  ['toolDigest', 'tool_changed'],
  ['seenDigest', 'wrong_arguments'],
  ['effectiveDigest', 'wrong_arguments'],
  ['ruleDigest', 'rule_changed'],
  ['requesters', 'wrong_requesters'],
  ['decision', 'vote_changed'],
  ['reason', 'vote_changed'],
  ['approver', 'vote_changed'],
  ['inPlaceOf', 'vote_changed'],
  ['at', 'vote_changed'],
  ['notAfter', 'vote_changed'],
];

/** Finds which field differs, to explain a fault to people. The text that comes with a signature is not trusted. */
function differenceFrom(expected: Statement, written: string | undefined): VoteFault | undefined {
  const signed = written === undefined ? undefined : readStatement(written);
  if (signed === undefined) return undefined;
  return FIELDS.find(([field]) => JSON.stringify(signed[field]) !== JSON.stringify(expected[field]))?.[1];
}
