import { digestJson } from '../contract/digest';
import { type Assurance, isAssured } from '../contract/authority/votes';
import type { VoteSignature } from '../contract/decision';
import { LIMITS, TIMES } from '../contract/limits';
import type { CallView, TurnView } from '../history/view';
import type { CallFacts, SignableVote, Statement } from './statement';

/** Where a call is, as the server says; and whose approvers file it is. */
export type SignedAt = Pick<CallFacts, 'installation' | 'namespace' | 'workflowId' | 'firstExecutionRunId'>;

/**
 * What a signature on a call is about, from what a person is shown of it. Undefined: no rule says who decides it, so nobody
 * checks signatures on it.
 */
export function factsToSign(
  { agent }: Pick<TurnView, 'agent'>,
  { phase, tool, request, doubt, generation: last }: CallView,
  at: SignedAt,
): CallFacts | undefined {
  const authority = request?.authority;
  if (request === undefined || authority === undefined) return undefined;
  const isAgain = phase === 'in_doubt' && doubt !== undefined;
  const { toolDigest, seenDigest } = request;
  const { ruleDigest, requesters } = authority;
  return {
    ...at,
    callKey: isAgain ? doubt.callKey : request.callKey,
    generation: isAgain ? last + 1 : last,
    ...{ agent, tool, toolDigest, seenDigest, ruleDigest, requesters },
    effectiveDigest: digestJson(request.arguments),
  };
}

/**
 * How sure a rule wants it to be whose approval this is. Undefined: a claim will do, or no rule says who decides. Nothing
 * runs by a denial.
 */
export function wantedOf(
  { request }: CallView,
  decision: SignableVote['decision'],
): Exclude<Assurance, 'claimed'> | undefined {
  const wanted = request?.authority?.rule.assurance;
  if (wanted === undefined || wanted === 'claimed') return undefined;
  return decision === 'approved' || decision === 'run-again' ? wanted : undefined;
}

/** Whether the web inbox's own signature is enough for a rule. */
export function isInboxEnough(wanted: Assurance): boolean {
  return isAssured('signed_in', wanted);
}

/** When a vote is signed, and until when a call may start by it: an hour after its request expires, or a week where it never does. */
export function timesToSign({ request }: CallView, now: number): Pick<Statement, 'at' | 'notAfter'> {
  const deadline = request?.deadline == null ? Number.NaN : Date.parse(request.deadline);
  const until = Number.isNaN(deadline) ? now + TIMES.requestExpires : Math.max(deadline, now);
  return {
    at: new Date(now).toISOString(),
    notAfter: new Date(until + TIMES.startWithin).toISOString(),
  };
}

/** A signature as it goes with a decision; the text beside it only where that is short. */
export function signatureOf(
  kind: VoteSignature['kind'],
  armored: string,
  { text, at, notAfter }: { text: string } & Pick<Statement, 'at' | 'notAfter'>,
): VoteSignature {
  const statement = text.length <= LIMITS.statementCharacters ? { statement: text } : {};
  return { kind, armored, at, notAfter, ...statement };
}
