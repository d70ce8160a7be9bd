import { digestJson } from '../contract/digest';
import type { Authority } from '../contract/authority/authority';
import type { VoteSignature } from '../contract/decision';
import type { JsonObject } from '../contract/json';
import { LIMITS, TIMES } from '../contract/limits';
import type { CallFacts, Statement } from './statement';

/** Where a call is, as the server says; and whose approvers file it is. */
export type SignedAt = Pick<CallFacts, 'installation' | 'namespace' | 'workflowId' | 'firstExecutionRunId'>;

/** As much of a call as a signature is about, as a person is shown it. */
export interface ShownCall {
  phase: string;
  tool: string;
  /** Of its last start; 0 before the first. */
  generation: number;
  request?: {
    callKey: string;
    toolDigest: string;
    seenDigest: string;
    arguments: JsonObject;
    deadline: string | null;
    authority?: Authority;
  };
  doubt?: { callKey: string };
}

/** What a signature on a call says, by what a person is shown. Undefined: no rule says who decides it, so nobody checks one. */
export function factsToSign(
  { agent }: Pick<CallFacts, 'agent'>,
  { phase, tool, request, doubt, generation: last }: ShownCall,
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

/** When a vote is signed, and until when a call may start by it: an hour after its request expires, or a week where it never does. */
export function timesToSign(
  { request }: Pick<ShownCall, 'request'>,
  now: number,
): Pick<Statement, 'at' | 'notAfter'> {
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
