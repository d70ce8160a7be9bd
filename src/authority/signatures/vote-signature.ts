import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Approvers } from '../rules/approvers-file';
import { PASSKEY_FAULTS, type PasskeyFault, verifyPasskey } from './passkey';
import {
  INBOX_NAMESPACE,
  SIGNATURE_NAMESPACE,
  SSH_FAULTS,
  type SshFault,
  verifySshSignature,
} from './ssh-signature';
import {
  type SignedCallFacts,
  readStatement,
  SIGNED_DECISIONS,
  type Statement,
  statementOf,
  statementText,
} from './statement';
import { SIGNATURE_KINDS, type VoteSignature } from '../../contract/decision';
import { MINUTE, TIMES } from '../../contract/limits';
import type { Assurance, Vote } from '../../contract/authority';

const signature = z.strictObject({
  kind: z.enum(SIGNATURE_KINDS),
  armored: z.string(),
  /**
   * The text that was signed. It proves nothing. If the signature does not match, the text shows which field differs.
   */
  statement: z.string().optional(),
});

const voteSchema = z.object({
  /** Required with a signature. */
  decisionId: z.string().optional(),
  decision: z.enum(SIGNED_DECISIONS),
  reason: z.string().optional(),
  suggestion: z.string().optional(),
  /** The ids of the hunks that the vote approves. Absent: the whole call. */
  hunks: z.array(z.string()).optional(),
  /** A person of the approvers file, by name or mail. The signature is over the name as it is written here. */
  approver: z.string(),
  at: z.string(),
  /** Required with a signature. */
  notAfter: z.string().optional(),
  /** The digest of what the person saw. Required with a signature. */
  seenDigest: z.string().optional(),
  signature: signature.optional(),
});

/** A vote as it arrived. */
type SentVote = z.input<typeof voteSchema>;

/** Converts a kept vote into the form in which votes are judged. */
export function judgedVote(vote: Vote): SentVote {
  const { voter: approver, at: takenAt, runsAgain, signature: signed, ...said } = vote;
  const decision = runsAgain === true ? ('run-again' as const) : vote.decision;
  const { decisionId, reason, suggestion, hunks, seenDigest } = said;
  const { at = takenAt, notAfter, kind, armored, statement } = signed ?? {};
  const signature = kind === undefined || armored === undefined ? undefined : { kind, armored, statement };
  return {
    decisionId,
    decision,
    reason,
    suggestion,
    hunks: hunks && [...hunks],
    approver,
    at,
    notAfter,
    seenDigest,
    signature,
  };
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
  wrong_run: 'it was made for another run of this turn, before a reset or a move of it',
  wrong_call: 'it was made for another call',
  wrong_generation: 'it was made for an earlier or later run of this call',
  tool_changed: 'it was made for another version of the tool',
  wrong_arguments: 'it was made for other arguments, or over another preview',
  rule_changed: 'it was made under another rule',
  wrong_requesters: 'it names other people as those who asked',
  vote_changed: 'the vote says something else than what was signed',
  in_future: `it is dated more than ${TIMES.clockSkew / MINUTE} minutes in the future`,
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
  const { signature: signed, decisionId, approver, at, notAfter } = read.data;
  if (signed === undefined) return { ok: true, assurance: 'claimed' };
  const voter = judge.approvers.personOf(approver);
  if (voter === undefined) return bad('unknown_person');
  if (decisionId === undefined || notAfter === undefined) return bad('malformed');
  const { facts } = judge;
  const { decision, reason = '', suggestion, hunks, seenDigest } = read.data;
  const said = { decisionId, decision, reason, suggestion, approver, at, notAfter, hunks };
  const expected = statementOf(facts, said);
  if (expected === undefined) return bad('malformed');
  if (seenDigest !== facts.seenDigest)
    return bad(differenceFrom(expected, signed.statement) ?? 'wrong_arguments');
  const from = Date.parse(at);
  const to = Date.parse(notAfter);
  if (to < from) return bad('malformed');
  const judged = verifySigned(
    { ...signed, voter, text: statementText(expected), from, last: to + TIMES.clockSkew, uses: VOTE_USES },
    judge,
  );
  if (judged.ok || judged.why !== 'does_not_match') return judged;
  return bad(differenceFrom(expected, signed.statement) ?? 'does_not_match');
}

function bad(why: VoteFault): { ok: false; why: VoteFault } {
  return { ok: false, why };
}

/** The namespaces that signatures must have: those by people's own keys, and those by keys of web inboxes. */
interface KeyUses {
  own: string;
  inbox: string;
}

const VOTE_USES: KeyUses = { own: SIGNATURE_NAMESPACE, inbox: INBOX_NAMESPACE };

/** A signature, and the text that it must be over. Moments are in milliseconds since 1970. */
interface SignedBy extends Pick<VoteSignature, 'kind' | 'armored'> {
  /** The person who is named as the signer, by the name in the approvers file. */
  voter: string;
  text: string;
  /** When it was signed, by the signer's clock. */
  from: number;
  /** The last moment at which the signature counts. */
  last: number;
  uses: KeyUses;
}

/**
 * How sure it is that a person signed a text. The approvers file is the current one, so a key that was removed from it
 * no longer counts. A passkey has no namespace, but each text says what it is about.
 */
export function verifySigned(signed: SignedBy, { approvers, now }: Omit<Judge, 'facts'>): VoteJudgement {
  const { kind, armored, voter, text, from, last, uses } = signed;
  if (from > now + TIMES.clockSkew) return bad('in_future');
  if (!(last >= now)) return bad('expired');
  if (kind === 'passkey') return verifyByPasskey(signed, approvers);
  const isOwn = kind === 'ssh';
  const verdict = verifySshSignature({
    armored,
    message: Buffer.from(text),
    keys: isOwn ? approvers.keysOf(voter) : approvers.inboxKeys,
    namespace: isOwn ? uses.own : uses.inbox,
    requireTouch: true,
    // Both times are checked: somebody could use an expired key with an older date.
    moments: [from, now],
  });
  if (verdict.ok) {
    const { fingerprint, isHardware } = verdict;
    return { ok: true, assurance: isOwn ? 'signed_ssh' : 'signed_in', voter, fingerprint, isHardware };
  }
  const { why, fingerprint: mark } = verdict;
  const owner = isOwn && mark !== undefined ? approvers.ownerOf(mark) : undefined;
  return bad(faultOf(why, { voter, approvers, mark, owner }));
}

/**
 * A passkey proves that the person decided. It does not protect against the web server, whose page chooses the text to
 * sign. So the text is `signed`, never `signed_ssh`.
 */
function verifyByPasskey({ armored, text, voter }: SignedBy, approvers: Judge['approvers']): VoteJudgement {
  const verdict = verifyPasskey({
    assertion: armored,
    challenge: createHash('sha256').update(text).digest(),
    passkeys: approvers.passkeysOf(voter),
    site: approvers.passkeySite,
  });
  if (verdict.ok) return { ok: true, assurance: 'signed', voter, fingerprint: verdict.fingerprint };
  const { why, id: mark } = verdict;
  const owner = mark === undefined ? undefined : approvers.ownerOfPasskey(mark);
  return bad(faultOf(why, { voter, approvers, mark, owner }));
}

/** What is known about the key of a signature. */
interface Listing {
  /** The person who is named as the signer. */
  voter: string;
  approvers: Judge['approvers'];
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
  ['runId', 'wrong_run'],
  ['callKey', 'wrong_call'],
  ['agent', 'wrong_call'],
  ['tool', 'wrong_call'],
  ['generation', 'wrong_generation'],
  ['toolDigest', 'tool_changed'],
  ['seenDigest', 'wrong_arguments'],
  ['effectiveDigest', 'wrong_arguments'],
  ['ruleDigest', 'rule_changed'],
  ['requesters', 'wrong_requesters'],
  ['decisionId', 'vote_changed'],
  ['decision', 'vote_changed'],
  ['hunks', 'vote_changed'],
  ['reason', 'vote_changed'],
  ['suggestion', 'vote_changed'],
  ['approver', 'vote_changed'],
  ['at', 'vote_changed'],
  ['notAfter', 'vote_changed'],
];

/** Finds which field differs, to explain a fault to people. The text that comes with a signature is not trusted. */
function differenceFrom(expected: Statement, written: string | undefined): VoteFault | undefined {
  const signed = written === undefined ? undefined : readStatement(written);
  if (signed === undefined) return undefined;
  return FIELDS.find(([field]) => JSON.stringify(signed[field]) !== JSON.stringify(expected[field]))?.[1];
}
