import { defined } from '../../contract/defined';
import {
  type Accepted,
  asksAgainAfterEdit,
  type Decision,
  isApproval,
  type RefusalCode,
  type Refused,
  REQUEST_EXPIRED,
  voteOf,
} from '../../contract/decision';
import { digestJson, seenDigestOf } from '../../contract/digest';
import type { JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { checkSchema, withDefaults } from '../../contract/schema/schema';
import { utf8Bytes } from '../../contract/text/bytes';
import type { Issue } from '../../contract/tool';
import { describeIssues } from '../../contract/read-json';
import {
  accept,
  checkMessage,
  isTooLate,
  type Judged,
  parseDecision,
  readNew,
  refusal,
  alreadyDecided,
  refuse,
  type TakenAt,
} from './messages';
import { refuseDecision } from './judge-answer';
import type { Approvals, CallState, FinalDecision, HeldDecision } from './state';
import type { SpentDecision } from '../../contract/call';
import { closeCall, denialOf } from './transitions';
import { approvalsIn, castVote, checkVote, withdrawVote } from './votes';
import { SOMEBODY, type Vote } from '../../contract/authority';

/**
 * Judges a decision from any sender at workflow time `now` (ms). The first valid decision wins.
 * At or after the deadline it is `expired`, even if the timer has not fired yet: we fail closed.
 */
export function judgeDecision(approvals: Approvals, message: unknown, now: number): Judged<Decision> {
  const read = readNew(approvals, parseDecision(message), message);
  if (read.kind !== 'new') return read;
  const { message: decision, contentDigest } = read;
  const state = approvals.calls.get(decision.callId);
  const late = checkPhase(approvals, decision, { state, now });
  if (late !== undefined) return refusal(late);
  if (state?.phase !== 'request')
    return refusal(
      refuse('unknown_call', `no call ${decision.callId} of this turn waits for a decision`, decision),
    );
  const filled = asItRuns(approvals, decision, state);
  const unfit = checkMessage(filled, state) ?? checkSeen(filled, state) ?? checkVote(state, filled, now);
  if (unfit !== undefined) return refusal(unfit);
  if (filled.arguments === undefined) return { kind: 'take', message: filled, state, contentDigest };
  const issues = checkArguments(approvals, filled.arguments, state);
  if (issues.length > 0) return { ...refusal(misfit(filled, issues)), isChecked: true };
  return { kind: 'take', message: filled, state, contentDigest, isChecked: true };
}

/**
 * Fills in the defaults of the schema. A person approves them together with the arguments, so they are on record before
 * the call runs.
 */
function asItRuns({ schemas }: Approvals, decision: Decision, { call }: CallState): Decision {
  if (decision.arguments === undefined) return decision;
  return { ...decision, arguments: withDefaults(schemas.get(call.toolDigest), decision.arguments) };
}

function checkPhase(
  approvals: Approvals,
  decision: Decision,
  { state, now }: { state: CallState | undefined; now: number },
): Refused | undefined {
  const closed = approvals.closed.get(decision.callId);
  if (state?.phase === 'question') return refuseDecision(decision);
  if (closed?.cause === 'expired' || closed?.cause === 'unanswered') return expired(decision);
  const isTakenBack = closed?.cause === 'neverStarted' || closed?.cause === 'withdrawn';
  if (isTakenBack || (approvals.cancelled && state?.phase === 'request')) {
    return refuse('cancelled', 'the turn was cancelled before this decision came', decision);
  }
  if (state?.phase === 'request') {
    return isTooLate(state, now) ? expired(decision) : undefined;
  }
  const standing = state?.standing ?? closed?.standing;
  return standing === undefined ? undefined : alreadyDecided(standing, decision);
}

function expired(decision: Decision): Refused {
  return refuse('expired', REQUEST_EXPIRED, decision);
}

function checkSeen(decision: Decision, state: CallState): Refused | undefined {
  if (decision.seenDigest !== undefined && decision.seenDigest !== state.seenDigest) {
    return refuse('stale_args', 'this request changed since you looked; look again', decision);
  }
  if (decision.seenDigest === undefined && state.isOther === true && isApproval(decision)) {
    const message = 'this request changed with a deploy; look again, and send its seenDigest';
    return refuse('stale_args', message, decision);
  }
  if (decision.hunks === undefined) return undefined;
  if (state.plan === undefined || state.plan.hunks.length === 0) {
    return refuse('malformed', 'this call has no hunks to choose from', decision);
  }
  const known = new Set(state.plan.hunks.map((hunk) => hunk.id));
  const unknown = decision.hunks.filter((hunk) => !known.has(hunk));
  if (unknown.length === 0) return undefined;
  return refuse('malformed', `no hunk ${unknown.join(', ')}; there are ${[...known].join(', ')}`, decision);
}

function misfit(decision: Decision, issues: Issue[]): Refused {
  const code: RefusalCode = 'invalid_arguments';
  return { ...refuse(code, `the new arguments do not fit: ${describeIssues(issues)}`, decision), issues };
}

function checkArguments({ schemas }: Approvals, args: JsonObject, { call }: CallState): Issue[] {
  if (utf8Bytes(JSON.stringify(args)) > LIMITS.argumentsBytes) {
    return [{ path: '', message: `over ${LIMITS.argumentsBytes} bytes` }];
  }
  const schema = schemas.get(call.toolDigest);
  if (schema !== undefined) return checkSchema(schema, args);
  return [{ path: '', message: 'the tool has no schema to check them against' }];
}

/** Takes a judged decision. Only here can a person make a request ready or deny it. */
export function takeDecision(
  approvals: Approvals,
  { message: decision, state, contentDigest }: Extract<Judged<Decision>, { kind: 'take' }>,
  at: TakenAt,
): Accepted {
  const standing = finalDecision(decision, at.now);
  const isRenewed = decision.decision === 'ask-again';
  const isEdited = decision.decision === 'modified' && asksAgainAfterEdit(state.call);
  const asksAgain = isRenewed || isEdited;
  const needs = asksAgain ? undefined : takeVote(approvals, state, { decision, standing, at });
  if (isEdited) replan(state, decision, standing);
  if (isRenewed) renew(state, standing);
  const verdict: Parameters<typeof accept>[1] = {
    decisionId: at.decisionId,
    callId: decision.callId,
    decision: decision.decision,
    approver: decision.approver ?? SOMEBODY,
    at: standing.at,
    asksAgain: asksAgain || undefined,
    unbound: isUnbound(decision) ? true : undefined,
    needs,
  };
  // The model reads no reason of somebody who takes a vote back, or who asks again.
  const words = voteOf(decision) && (decision.suggestion ?? decision.reason);
  return accept(approvals, verdict, { contentDigest, words: decision.arguments ?? words });
}

/**
 * Applies a decision or, if rules say who decides, counts it as a vote. Returns the votes that are still needed.
 * Undefined: the decision is final.
 */
function takeVote(
  approvals: Approvals,
  state: CallState,
  { decision, standing, at }: { decision: Decision; standing: FinalDecision; at: TakenAt },
): Accepted['needs'] {
  if (decision.decision === 'withdrawn') return withdrawVote(state, decision, at.now);
  const word = voteOf(decision);
  const cast = word && castVote(state, { ...decision, decision: word }, at);
  // If a vote was struck out, or the request was escalated, the other votes may be enough by themselves. A vote
  // decides a call only in its own sense, so a denial never lets a call run.
  if (cast !== undefined && cast.state !== word) return cast.needs;
  if (word === 'denied') deny(approvals, state, { decision, standing });
  else if (cast === undefined) allow(state, decision, { ...at, standing });
  else {
    const { approver, votes } = approvalsIn(cast.votes);
    allow(state, decision, { ...at, standing: { ...standing, approver } }, votes);
  }
  return undefined;
}

function finalDecision(decision: Decision, now: number): FinalDecision {
  const word = voteOf(decision) ?? decision.decision;
  return { decision: word, approver: decision.approver ?? SOMEBODY, at: new Date(now).toISOString() };
}

/** Whether the decision lets a call run without naming what its approver saw. */
function isUnbound(decision: Decision): boolean {
  return isApproval(decision) && decision.seenDigest === undefined;
}

function deny(
  approvals: Approvals,
  state: CallState,
  by: { decision: Decision; standing: FinalDecision },
): void {
  state.standing = by.standing;
  const result = denialOf(state, {
    approver: by.standing.approver,
    reason: by.decision.reason,
    suggestion: by.decision.suggestion,
    at: by.standing.at,
  });
  closeCall(approvals, state, { result });
}

function allow(
  state: CallState,
  decision: Decision,
  at: TakenAt & { standing: FinalDecision },
  votes?: Vote[],
): void {
  if (decision.arguments !== undefined) editArguments(state, decision, at.standing);
  delete state.note;
  state.standing = at.standing;
  const { reason, hunks } = decision;
  const { approver } = at.standing;
  state.held = unspentDecision(state, { decisionId: at.decisionId, approver, reason, hunks, votes });
  state.phase = 'ready';
  state.deadline = null;
}

/** The unspent decision that a message gives a call. It allows only the request as it is now. */
export function unspentDecision(
  { call, edit, generation, seenDigest }: CallState,
  said: Pick<SpentDecision, 'decisionId' | 'approver'> & {
    [K in 'reason' | 'hunks' | 'votes']: SpentDecision[K] | undefined;
  },
): HeldDecision {
  const { decisionId, approver, reason, hunks, votes } = said;
  return {
    decisionId,
    decision: edit === undefined ? 'approved' : 'modified',
    approver,
    seenDigest,
    previewDigest: call.previewDigest,
    reason,
    hunks,
    edit,
    votes,
    generation,
    spent: false,
  };
}

/** Keeps three records apart: what the model proposed, what a person approved, and what runs. */
function editArguments(state: CallState, decision: Decision, standing: FinalDecision): void {
  state.proposed ??= state.call.proposed ?? state.call.arguments;
  state.effective = decision.arguments ?? state.effective;
  state.effectiveDigest = digestJson(state.effective);
  // Without a preview, a person sees only the arguments. With a preview, the new preview changes the digest.
  state.seenDigest = seenDigestOf({ argsDigest: state.effectiveDigest });
  state.edit = { approver: standing.approver, ...defined({ reason: decision.reason }) };
  state.editors = [...(state.editors ?? []), standing.approver];
}

/**
 * Sends an edited call back for a new preview. The old preview shows the old arguments, so nobody can approve the call
 * before that.
 */
function replan(state: CallState, decision: Decision, standing: FinalDecision): void {
  delete state.editBefore;
  if (state.edit !== undefined) state.editBefore = state.edit;
  editArguments(state, decision, standing);
  state.phase = 'replanning';
  state.deadline = null;
}

/**
 * Sends the request back to be prepared anew. The worker checks whether the admin may ask for this under today's rules.
 * Until then the votes stay.
 */
function renew(state: CallState, { approver }: FinalDecision): void {
  state.renewal = { by: approver, since: state.since, deadline: state.deadline };
  state.phase = 'replanning';
  state.deadline = null;
}
