import type { Countersign } from '../client/types';
import { assuranceWanted } from '../contract/authority/authority';
import type {
  GrantPasskeyAsk,
  PasskeyAsk,
  PasskeyPlace,
  SignedByPasskey,
} from '../contract/authority/passkeys';
import { type Assurance, assuranceText, type InPlaceOf, isAssured } from '../contract/authority/votes';
import { defined } from '../contract/defined';
import type { VoteSignature } from '../contract/decision';
import type { SaysOfGrant } from '../contract/control/grant-votes';
import type { AwayTerms } from '../contract/control/away';
import type { GrantTerms } from '../contract/control/grants';
import { CountersignError } from '../contract/errors';
import type { CallView, TurnView } from '../history/view';

/** What somebody says who is signed in, and of what. */
interface ToSign {
  agent: string;
  call: CallView;
  place: Awaited<ReturnType<Countersign['placeOf']>>;
  decision: SignedInVote['decision'];
  approver: string;
  reason?: string;
  inPlaceOf?: InPlaceOf;
}

/** Signs, with the key of this web inbox, what somebody says who is signed in; undefined where nobody would check it. */
export type InboxSigner = (vote: ToSign) => Promise<VoteSignature | undefined>;

/** Has people sign with their passkeys. */
export interface PasskeySigner {
  /** Where a person may make one; undefined: the approvers file has no place for it. */
  placeOf(user: string): Promise<PasskeyPlace | undefined>;
  /** Undefined: the person has no passkey in the file, or nobody would check it. */
  ask(vote: ToSign): Promise<PasskeyAsk | undefined>;
  /** @throws CountersignError `signature_needed` where the worker would refuse it. */
  take(vote: ToSign, signed: SignedByPasskey): Promise<VoteSignature>;
}

/** A grant that somebody who is signed in gives; or confirms, where `says` has who they are in it. */
export interface GrantToSign {
  terms: GrantTerms;
  namespace: string;
  /** As they are signed in. */
  user: string;
  says?: SaysOfGrant;
}

/** Signs a grant that somebody gives who is signed in, or confirms, with the same key; undefined where nobody would check it. */
export type GrantSigner = (grant: GrantToSign) => Promise<VoteSignature | undefined>;

/** Has people sign the grants that they give or confirm with their passkeys. */
export interface GrantPasskeys {
  /** Undefined: the person has no passkey in the file, or nobody would check it. */
  ask(grant: GrantToSign): Promise<GrantPasskeyAsk | undefined>;
  /** @throws CountersignError `signature_needed` where the worker would refuse it. */
  take(grant: GrantToSign, signed: SignedByPasskey): Promise<VoteSignature>;
}

/** Signs, with the same key, that somebody who is signed in is away; undefined where nobody would check it. */
export type AwaySigner = (away: {
  terms: AwayTerms;
  namespace: string;
  /** As they are signed in. */
  user: string;
}) => Promise<VoteSignature | undefined>;

/** What somebody who is signed in says of a call. */
export interface SignedInVote {
  turn: string;
  callId: string;
  /** A resolution is signed only where it runs the call again. */
  decision: 'approved' | 'denied' | 'run-again';
  approver: string;
  reason?: string | undefined;
  /** In whose place they vote, as it was found here. Absent: as themselves. */
  inPlaceOf?: InPlaceOf | undefined;
  /** What the page showed. Absent where it does not say. */
  seenDigest?: string | undefined;
  /** What the approver's passkey signed. Absent: it was not asked. */
  passkey?: SignedByPasskey | undefined;
}

/** What a signature on a call is made from. */
export type SignableTurn = Pick<TurnView, 'turn' | 'firstRunId' | 'agent' | 'calls'>;

/** Reads what is to be signed. */
export interface SignableTurns extends Pick<Countersign, 'placeOf'> {
  view(turn: string): Promise<SignableTurn>;
}

/** What signs votes here. A part that is undefined signs none. */
export interface Signers {
  /** Signs that an approver was signed in. */
  signer: InboxSigner | undefined;
  /** The same for grants. */
  grantSigner?: GrantSigner | undefined;
  /** The same for who is away. */
  awaySigner?: AwaySigner | undefined;
  passkeys?: PasskeySigner | undefined;
  grantPasskeys?: GrantPasskeys | undefined;
}

/**
 * The signature on a vote: the approver's own, where their passkey gave one, or the web inbox's. Absent where it has no key,
 * or where nothing checks one.
 *
 * @throws CountersignError `signature_needed` where the rule wants more: with what a passkey is asked for, if one can give it.
 */
export async function signVote(
  { client, signer, passkeys }: Signers & { client: SignableTurns },
  vote: SignedInVote,
): Promise<{ signature?: VoteSignature }> {
  const { turn, callId, decision, seenDigest } = vote;
  // Nothing runs by a denial.
  if (signer === undefined && decision === 'denied') return {};
  const view = await client.view(turn);
  const call = view.calls.find((one) => one.callId === callId);
  // The turn says what is wrong with it.
  if (call === undefined || (seenDigest !== undefined && seenDigest !== call.request?.seenDigest)) return {};
  const wanted = assuranceWanted(call.request?.authority, decision);
  const needsOwn = wanted !== undefined && !isAssured('signed_in', wanted);
  if (signer === undefined && !needsOwn) {
    if (wanted !== undefined) throw needsInboxKey(turn, callId);
    return {};
  }
  const { approver, reason, inPlaceOf, passkey } = vote;
  const said = { decision, approver, ...defined({ reason, inPlaceOf }) };
  const about = { agent: view.agent, call, place: client.placeOf(view), ...said };
  if (wanted === 'signed' && passkeys !== undefined && passkey !== undefined)
    return { signature: await passkeys.take(about, passkey) };
  if (needsOwn) {
    const ask = wanted === 'signed' ? await passkeys?.ask(about) : undefined;
    throw needsPerson(`${turn}/${callId}`, wanted, ask);
  }
  return defined({ signature: await signer?.(about) });
}

function needsPerson(call: string, wanted: Assurance, passkey: PasskeyAsk | undefined): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the rule of ${call} wants decisions ${assuranceText(wanted)}, which takes the approver's own key`,
    { hint: `Sign at a terminal: countersign approve ${call} --sign`, data: defined({ passkey }) },
  );
}

function needsInboxKey(turn: string, callId: string): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the rule of ${callId} wants decisions signed in, and this web inbox signs none`,
    {
      hint: `Open it with --approvers <file>, or sign at a terminal: countersign approve ${turn}/${callId} --sign`,
    },
  );
}
