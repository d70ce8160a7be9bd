import type { Countersign } from '../client/types';
import { assuranceWanted } from '../contract/authority/authority';
import { type Assurance, assuranceText, isAssured } from '../contract/authority/votes';
import { defined } from '../contract/defined';
import type { VoteSignature } from '../contract/decision';
import type { GrantTerms } from '../contract/control/grants';
import { CountersignError } from '../contract/errors';
import type { CallView } from '../history/view';

/** Signs, with the key of this web inbox, what somebody says who is signed in; undefined where nobody would check it. */
export type InboxSigner = (vote: {
  agent: string;
  call: CallView;
  place: Awaited<ReturnType<Countersign['placeOf']>>;
  decision: SignedInVote['decision'];
  approver: string;
  reason?: string;
}) => Promise<VoteSignature | undefined>;

/** Signs a grant of somebody who is signed in, with the same key; undefined where nobody would check it. */
export type GrantSigner = (terms: GrantTerms, namespace: string) => Promise<VoteSignature | undefined>;

/** What somebody who is signed in says of a call. */
export interface SignedInVote {
  turn: string;
  callId: string;
  /** A resolution is signed only where it runs the call again. */
  decision: 'approved' | 'denied' | 'run-again';
  approver: string;
  reason?: string | undefined;
  /** What the page showed. Absent where it does not say. */
  seenDigest?: string | undefined;
}

/**
 * The web inbox's signature on a vote; absent where it has no key, or where nothing checks one.
 *
 * @throws CountersignError `signature_needed` where the rule wants more than this web inbox can give.
 */
export async function signVote(
  { client, signer }: { client: Pick<Countersign, 'view' | 'placeOf'>; signer: InboxSigner | undefined },
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
  if (wanted !== undefined && !isAssured('signed_in', wanted)) throw needsPerson(turn, callId, wanted);
  if (signer === undefined) {
    if (wanted !== undefined) throw needsInboxKey(turn, callId);
    return {};
  }
  const place = await client.placeOf(turn);
  const { approver, reason } = vote;
  const said = { decision, approver, ...defined({ reason }) };
  return defined({ signature: await signer({ agent: view.agent, call, place, ...said }) });
}

function needsPerson(turn: string, callId: string, wanted: Assurance): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the rule of ${callId} wants decisions ${assuranceText(wanted)}, which takes the approver's own key`,
    { hint: `Sign at a terminal: countersign approve ${turn}/${callId} --sign` },
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
