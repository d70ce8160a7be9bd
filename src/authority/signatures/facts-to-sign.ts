import { digestJson } from '../../contract/digest';
import type { VoteSignature } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import { LIMITS, TIMES } from '../../contract/limits';
import type { SignedCallFacts, Statement } from './statement';
import type { Authority } from '../../contract/authority';

/** Where a turn belongs, as the server names it, and the installation of the approvers file. */
export type SignedAt = Pick<SignedCallFacts, 'installation' | 'namespace' | 'workflowId'>;

/** The parts of a call that a signature covers, as a person is shown them. */
export interface ShownCall {
  /** The run in which the call was shown. */
  runId?: string;
  phase: string;
  tool: string;
  /** The generation of the call's last start. 0 before the first start. */
  generation: number;
  request?: {
    callKey: string;
    toolDigest: string;
    seenDigest: string;
    arguments: JsonObject;
    deadline: string | null;
    authority?: Authority;
  };
}

/**
 * The facts that a signature on a call covers, taken from what a person is shown. Undefined if no rule says who decides
 * the call, because nobody would check a signature.
 */
export function factsToSign(
  { agent }: Pick<SignedCallFacts, 'agent'>,
  { runId = '', phase, tool, request, generation: last }: ShownCall,
  at: SignedAt,
): SignedCallFacts | undefined {
  const authority = request?.authority;
  if (request === undefined || authority === undefined) return undefined;
  const { toolDigest, seenDigest } = request;
  const { ruleDigest, requesters } = authority;
  return {
    ...at,
    runId,
    callKey: request.callKey,
    generation: phase === 'in_doubt' ? last + 1 : last,
    agent,
    tool,
    toolDigest,
    seenDigest,
    ruleDigest,
    requesters,
    effectiveDigest: digestJson(request.arguments),
  };
}

/**
 * The time of a vote, and the time until which the vote lets the call start: an hour after the request expires, or a
 * week from now if the request never expires.
 */
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

/** A signature in the form in which it is sent with a decision. The signed text is included only if it is short. */
export function signatureOf(
  kind: VoteSignature['kind'],
  armored: string,
  { text, at, notAfter }: { text: string } & Pick<Statement, 'at' | 'notAfter'>,
): VoteSignature {
  const statement = text.length <= LIMITS.statementCharacters ? { statement: text } : {};
  return { kind, armored, at, notAfter, ...statement };
}
