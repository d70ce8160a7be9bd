import type { InboxKey } from '../authority/inbox-key';
import type { ApproversSource } from '../authority/source';
import { statementOf, statementText } from '../authority/statement';
import { factsToSign, isInboxEnough, signatureOf, timesToSign, wantedOf } from '../authority/to-sign';
import type { Countersign } from '../client/types';
import type { VoteSignature } from '../contract/decision';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import type { CallView } from '../history/view';

/** By what a web inbox signs that an approver was signed in. */
export interface InboxSigner {
  key: InboxKey;
  approvers: ApproversSource;
}

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
  const wanted = wantedOf(call, decision);
  if (wanted !== undefined && !isInboxEnough(wanted)) throw needsPerson(turn, callId, wanted);
  if (signer === undefined) {
    if (wanted !== undefined) throw needsInboxKey(turn, callId);
    return {};
  }
  const place = await client.placeOf(turn);
  return defined({ signature: await signed(signer, vote, { agent: view.agent, call, place }) });
}

interface SignedCall {
  agent: string;
  call: CallView;
  place: Awaited<ReturnType<Countersign['placeOf']>>;
}

async function signed(
  { key, approvers }: InboxSigner,
  { decision, approver: user, reason }: SignedInVote,
  { agent, call, place }: SignedCall,
): Promise<VoteSignature | undefined> {
  const file = await approvers.current();
  const approver = file.personOf(user);
  const facts = factsToSign({ agent }, call, { installation: file.installation, ...place });
  if (facts === undefined || approver === undefined) return undefined;
  const times = timesToSign(call, Date.now());
  const statement = statementOf(facts, { decision, approver, ...times, ...defined({ reason }) });
  if (statement === undefined) return undefined;
  return signatureOf('inbox', key.sign(statement), { text: statementText(statement), ...times });
}

function needsPerson(turn: string, callId: string, wanted: string): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the rule of ${callId} wants decisions ${wanted.replaceAll('_', ' ')}, which takes the approver's own key`,
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
