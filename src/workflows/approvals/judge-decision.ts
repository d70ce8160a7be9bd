import type { Decision, RefusalCode, Refused } from '../../contract/decision';
import { digestJson } from '../../contract/digest';
import { LIMITS } from '../../contract/limits';
import { checkSchema } from '../../contract/schema';
import { utf8Bytes } from '../../contract/transcript';
import type { Issue } from '../../contract/tool';
import { describeIssues, parseDecision } from './parse';
import { refuse, repeatOf } from './refuse';
import type { Approvals, CallState, SpentId } from './state';

/** A decision that would be taken, a repeat of one that was, or a refusal. Judging changes nothing. */
export type JudgedDecision =
  | { kind: 'take'; decision: Decision; state: CallState; contentDigest: string }
  | { kind: 'repeat'; spent: SpentId }
  | { kind: 'refuse'; refused: Refused };

/** What a decision is judged by. */
interface Case {
  approvals: Approvals;
  decision: Decision;
  state: CallState | undefined;
  now: number;
}

/**
 * Judges a decision of any sender at workflow time `now` (ms). The first valid decision wins.
 * At or past the deadline it is `expired` even if the timer has not fired yet: we fail closed.
 */
export function judgeDecision(approvals: Approvals, message: unknown, now: number): JudgedDecision {
  const parsed = parseDecision(message);
  if (!parsed.ok) return refusal(refuse('malformed', parsed.message, message));
  const decision = parsed.value;
  const contentDigest = digestOf(decision);
  const repeat = repeatOf(approvals, decision, contentDigest);
  if (repeat !== undefined) return repeat;
  const state = approvals.calls.get(decision.callId);
  const late = checkPhase({ approvals, decision, state, now });
  if (late !== undefined) return refusal(late);
  if (state?.phase !== 'request') return refusal(unknownCall(decision));
  const unfit = checkContent(approvals, decision, state);
  return unfit === undefined ? { kind: 'take', decision, state, contentDigest } : refusal(unfit);
}

/** What a repeat of a decision id must have in common: all but the id itself. */
export function digestOf(message: { decisionId?: string }): string {
  const { decisionId: _, ...content } = message;
  return digestJson(content);
}

function refusal(refused: Refused): JudgedDecision {
  return { kind: 'refuse', refused };
}

function unknownCall(decision: Decision): Refused {
  return refuse('unknown_call', `no call ${decision.callId} of this turn waits for a decision`, decision);
}

function checkPhase({ approvals, decision, state, now }: Case): Refused | undefined {
  const closed = approvals.closed.get(decision.callId);
  if (closed?.why === 'expired') return expired(decision);
  if (closed?.why === 'cancelled' || (approvals.cancelled && state?.phase === 'request')) {
    return refuse('cancelled', 'the turn was cancelled before this decision came', decision);
  }
  if (state?.phase === 'request') {
    return state.deadline !== null && now >= state.deadline ? expired(decision) : undefined;
  }
  const standing = state?.standing ?? closed?.standing;
  return standing === undefined ? undefined : decided(decision, standing);
}

function expired(decision: Decision): Refused {
  return refuse('expired', 'this request expired; the model was told that nothing ran', decision);
}

function decided(decision: Decision, standing: NonNullable<Refused['standing']>): Refused {
  const message = `already ${standing.decision} by ${standing.approver} at ${standing.at}`;
  return { ...refuse('already_decided', message, decision), standing };
}

function checkContent(approvals: Approvals, decision: Decision, state: CallState): Refused | undefined {
  if (decision.callKey !== undefined && decision.callKey !== state.callKey) {
    return refuse('stale_args', 'this call was asked anew since you looked; look again', decision);
  }
  if (decision.argsDigest !== undefined && decision.argsDigest !== state.effectiveDigest) {
    return refuse('stale_args', 'the arguments changed since you looked; look again', decision);
  }
  return checkHunks(decision, state) ?? checkReason(decision) ?? checkArguments(approvals, decision, state);
}

function checkHunks(decision: Decision, state: CallState): Refused | undefined {
  if (decision.hunks === undefined) return undefined;
  if (state.plan === undefined || state.plan.hunks.length === 0) {
    return refuse('malformed', 'this call has no hunks to choose from', decision);
  }
  const known = new Set(state.plan.hunks.map((hunk) => hunk.id));
  const unknown = decision.hunks.filter((hunk) => !known.has(hunk));
  if (unknown.length === 0) return undefined;
  return refuse('malformed', `no hunk ${unknown.join(', ')}; there are ${[...known].join(', ')}`, decision);
}

function checkReason(decision: Decision): Refused | undefined {
  if (utf8Bytes(decision.reason ?? '') <= LIMITS.reasonBytes) return undefined;
  return refuse('malformed', `the reason is over ${LIMITS.reasonBytes} bytes`, decision);
}

function checkArguments(approvals: Approvals, decision: Decision, state: CallState): Refused | undefined {
  if (decision.arguments === undefined) return undefined;
  const issues = argumentIssues(approvals, decision, state);
  if (issues.length === 0) return undefined;
  const code: RefusalCode = 'invalid_arguments';
  return { ...refuse(code, `the new arguments do not fit: ${describeIssues(issues)}`, decision), issues };
}

function argumentIssues(approvals: Approvals, decision: Decision, state: CallState): Issue[] {
  if (utf8Bytes(JSON.stringify(decision.arguments)) > LIMITS.argumentsBytes) {
    return [{ path: '', message: `over ${LIMITS.argumentsBytes} bytes` }];
  }
  const schema = approvals.schemas.get(state.call.toolDigest);
  if (schema === undefined) return [{ path: '', message: 'the tool has no schema to check them against' }];
  return checkSchema(schema, decision.arguments);
}
