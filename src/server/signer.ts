import { randomUUID } from 'node:crypto';
import type {
  GrantPasskeyAsk,
  PasskeyAsk,
  PasskeyPlace,
  SignedByPasskey,
} from '../authority/signatures/passkey-ask';
import { assuranceText, isAssured } from '../authority/rules/stricter-rule';
import type { VoteSignature } from '../contract/decision';
import type { SaysOfGrant } from '../authority/grants/grant-votes';
import type { GrantTerms } from '../authority/grants/grant';
import { CountersignError } from '../contract/errors';
import { hunksToSign } from '../history/decisions';
import type { CallView, TurnView } from '../history/view';
import type { Assurance } from '../contract/authority';
import type { Countersign } from '../client/countersign';
import { type VoteDecision, assuranceWanted } from '../authority/votes/voters';

/** A statement of a signed-in person about a call. */
interface ToSign {
  agent: string;
  call: CallView;
  place: Awaited<ReturnType<Countersign['placeOf']>>;
  decisionId: string;
  decision: VoteToSign['decision'];
  approver: string;
  reason?: string;
  suggestion?: string;
  hunks?: readonly string[];
}

/**
 * Signs a statement of a signed-in person with the key of this web inbox. Undefined if nobody would check the
 * signature.
 */
export type InboxSigner = (vote: ToSign) => Promise<VoteSignature | undefined>;

/** Lets people sign votes with their passkeys. */
interface PasskeySigner {
  /** The place where a person may make a passkey. Undefined: the approvers file names no place. */
  placeOf(user: string): Promise<PasskeyPlace | undefined>;
  /**
   * The data to sign. Undefined: the file has no place for passkeys, or no passkey of the person, or the person has
   * another name in the file than in the grant.
   */
  ask(vote: ToSign): Promise<PasskeyAsk | undefined>;
  /** @throws CountersignError `signature_needed` if the worker would refuse the signature. */
  take(vote: ToSign, signed: SignedByPasskey): Promise<VoteSignature>;
}

/** A grant that a signed-in person gives or confirms. `says` is set if they confirm it, and names them. */
export interface GrantToSign {
  terms: GrantTerms;
  namespace: string;
  /** The name under which the person is signed in. */
  user: string;
  says?: SaysOfGrant;
}

/**
 * Signs, with the key of this web inbox, that a signed-in person gives or confirms a grant. Undefined if nobody would
 * check the signature.
 */
type GrantSigner = (grant: GrantToSign) => Promise<VoteSignature | undefined>;

/** Lets people sign the grants that they give or confirm with their passkeys. */
interface GrantPasskeys {
  /** The data to sign. Undefined: the person has no passkey in the file, or nobody would check the signature. */
  ask(grant: GrantToSign): Promise<GrantPasskeyAsk | undefined>;
  /** @throws CountersignError `signature_needed` if the worker would refuse the signature. */
  take(grant: GrantToSign, signed: SignedByPasskey): Promise<VoteSignature>;
}

/** The vote of a signed-in person on a call. */
export interface VoteToSign {
  turn: string;
  callId: string;
  /** @default drawn */
  decisionId?: string;
  decision: VoteDecision;
  approver: string;
  reason?: string;
  suggestion?: string;
  /** The ids of the hunks that the person approves. Absent: the whole call. */
  hunks?: readonly string[];
  /** The digest of the request that the page showed. Absent: the page does not send it. */
  seenDigest?: string;
  /** The data that the approver's passkey signed. Absent: the passkey was not asked. */
  passkey?: SignedByPasskey;
}

/** The parts of a turn that are needed to sign a vote on a call. */
export type SignableTurn = Pick<TurnView, 'turn' | 'agent' | 'calls'>;

/** Reads the turn for which a vote is signed. */
export interface SignableTurns extends Pick<Countersign, 'placeOf'> {
  view(turn: string): Promise<SignableTurn>;
}

/** The functions that sign here. If one is undefined, nothing of its kind is signed. */
export interface Signers {
  /** Signs that an approver was signed in. */
  signer: InboxSigner | undefined;
  /** Signs grants of people who are signed in. */
  grantSigner?: GrantSigner;
  passkeys?: PasskeySigner;
  grantPasskeys?: GrantPasskeys;
}

/** How sure it is, at most, that this person said what they say here. */
export async function assuranceHere({ signer, passkeys }: Signers, user: string): Promise<Assurance> {
  const place = await passkeys?.placeOf(user);
  if (place && place.ids.length > 0) return 'signed';
  return signer ? 'signed_in' : 'claimed';
}

/** What a signature on a message covers beside the call: its id, and the run in which the call was shown. */
export interface SignedMessage {
  decisionId?: string;
  runId?: string;
  signature?: VoteSignature;
}

/**
 * The signature on a vote. It is the approver's own signature if their passkey signed, otherwise the web inbox's.
 * Absent if the web inbox has no key, or if nobody checks a signature.
 *
 * @throws CountersignError `signature_needed` if the rule wants more. If a passkey can sign, the error carries the data
 * for it.
 */
export async function signVote(
  { client, signer, passkeys }: Signers & { client: SignableTurns },
  vote: VoteToSign,
): Promise<SignedMessage> {
  const { turn, callId, decision, seenDigest, decisionId = randomUUID() } = vote;
  // A denial lets nothing run, so it needs no signature.
  if (signer === undefined && decision === 'denied') return {};
  const view = await client.view(turn);
  const call = view.calls.find((one) => one.callId === callId);
  // The vote is sent without a signature, and the answer of the turn says what is wrong with the vote.
  if (call === undefined || (seenDigest !== undefined && seenDigest !== call.request?.seenDigest)) return {};
  const wanted = assuranceWanted(call.request?.authority, decision);
  const needsOwn = wanted !== undefined && !isAssured('signed_in', wanted);
  if (signer === undefined && !needsOwn) {
    if (wanted !== undefined)
      throw new CountersignError(
        'signature_needed',
        `the rule of ${callId} wants decisions signed in, and this web inbox signs none`,
        `Open it with --approvers <file>, or sign at a terminal: countersign approve ${turn}/${callId} --sign`,
      );
    return {};
  }
  const { approver, reason, suggestion, passkey } = vote;
  const hunks = hunksToSign(call, decision, vote.hunks);
  const said = { decisionId, decision, approver, reason, suggestion, hunks };
  const sent = { decisionId, runId: call.runId };
  const about = { agent: view.agent, call, place: client.placeOf(view), ...said };
  if (wanted === 'signed' && passkeys && passkey)
    return { ...sent, signature: await passkeys.take(about, passkey) };
  if (needsOwn) {
    const ask = wanted === 'signed' ? await passkeys?.ask(about) : undefined;
    throw needsPerson(`${turn}/${callId}`, wanted, ask);
  }
  return { ...sent, signature: await signer?.(about) };
}

function needsPerson(call: string, wanted: Assurance, passkey: PasskeyAsk | undefined) {
  return new CountersignError(
    'signature_needed',
    `the rule of ${call} wants decisions ${assuranceText(wanted)}, which takes the approver's own key`,
    { hint: `Sign at a terminal: countersign approve ${call} --sign`, data: { passkey } },
  );
}
