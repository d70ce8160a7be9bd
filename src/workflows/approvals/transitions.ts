import {
  type AskAgain,
  type PreparedCall,
  type SpentDecision,
  type ValidCall,
  isAskable,
  isValidCall,
  timeToDecide,
} from '../../contract/call';
import type { GrantMark } from '../../contract/policy-rule';
import type { Refused } from '../../contract/decision';
import {
  afterDoubt,
  type ClosingCause,
  decisionNote,
  denied,
  type Denied,
  ENDINGS,
  mayHaveRun,
  unpreviewed,
  withNoteFirst,
} from '../../contract/call-texts';
import { defined } from '../../contract/defined';
import { seenDigestOf } from '../../contract/digest';
import {
  makeFailure,
  makeSuccess,
  type ResultFacts,
  resultHead,
  type ToolFailure,
  type ToolResult,
} from '../../contract/result';
import { isTooLate } from './messages';
import type { Approvals, CallState, HeldDecision, Settlement } from './state';
import { escalationOf, keepAsked, strike, voidIds } from './votes';
import { joinedAuthority, renewedAuthority } from '../../authority/votes/authority-in-force';

/** Registers a prepared call at workflow time `now` (ms). From now on decisions can reach it. */
export function register(
  approvals: Approvals,
  call: ValidCall,
  at: { callKey: string; now: number },
): CallState {
  const grant = grantOf(call);
  const isAsked = (call.kind === 'ask' && grant === undefined) || call.question !== undefined;
  const state: CallState = {
    call,
    callKey: at.callKey,
    generation: 0,
    phase: call.question !== undefined ? 'question' : isAsked ? 'request' : 'ready',
    // An answer is not a decision. If a bug of ours let a question start, this would still stop it.
    needsDecision: isAsked,
    since: at.now,
    deadline: isAsked ? deadlineOf(call, at.now) : null,
    scheduledAt: Number.NEGATIVE_INFINITY,
    effective: call.arguments,
    effectiveDigest: call.argsDigest,
    seenDigest: seenDigestOf(call),
    plan: call.preview?.plan,
    grant,
  };
  approvals.calls.set(call.callId, state);
  return state;
}

/**
 * The grant of a call. The worker decides whether it counts. If a workflow runs the call itself, grants do not
 * count.
 */
function grantOf({ kind, question, settings, grant }: ValidCall): GrantMark | undefined {
  const isOurs = kind === 'ask' && question === undefined && settings.gate === undefined;
  return isOurs && settings.grants !== 'none' ? grant : undefined;
}

function deadlineOf(call: ValidCall, now: number): number | null {
  const expiresMs = timeToDecide(call);
  return expiresMs === null ? null : now + expiresMs;
}

/** When the next request expires or is escalated, as workflow time in ms. Null: never. */
export function nextDeadline({ calls }: Approvals): number | null {
  const deadlines = [...calls.values()].flatMap((state) =>
    [state.deadline, escalationOf(state)].flatMap((at) => at ?? []),
  );
  return deadlines.length === 0 ? null : Math.min(...deadlines);
}

/**
 * Marks a ready call as running and spends its decision. Throws if a call needs a decision and has none that allows
 * this start. Such a decision is unspent, for this generation, and for exactly what was seen. This is the last line of
 * defence: it throws only if this folder has a bug.
 */
export function start(state: CallState): SpentDecision | undefined {
  if (state.phase !== 'ready') throw new Error(`call ${state.call.callId} is ${state.phase}, not ready`);
  if (state.needsDecision) spend(state);
  state.phase = 'running';
  return state.held === undefined ? undefined : spentPart(state.held);
}

function spend(state: CallState): void {
  const { held } = state;
  const matches =
    held !== undefined &&
    !held.spent &&
    held.seenDigest === state.seenDigest &&
    held.generation === state.generation;
  if (!matches) throw new Error(`call ${state.call.callId} has no unspent decision that matches it`);
  held.spent = true;
}

function spentPart({ generation: _, spent: __, isOld: ___, ...decision }: HeldDecision): SpentDecision {
  return decision;
}

/**
 * Hands an allowed call over to the workflow that asked about it and runs it itself. The decision is spent. Throws as
 * `start` does.
 */
export function handOver(approvals: Approvals, state: CallState): SpentDecision {
  const decision = start(state);
  if (decision === undefined) throw new Error(`call ${state.call.callId} was never asked about`);
  const { standing } = state;
  approvals.closed.set(state.call.callId, { standing });
  return decision;
}

/** Withdraws a request that is still undecided, at workflow time `now` (ms). */
export function withdraw(approvals: Approvals, state: CallState, now: number): void {
  if (state.phase !== 'request') return;
  closeCall(approvals, state, { cause: 'withdrawn', result: failureOf(state, ENDINGS.withdrawn, now) });
}

/** Applies to a running call how its activity ended. */
export function settle(
  approvals: Approvals,
  state: CallState,
  at: { settlement: Settlement; now: number },
): void {
  if (state.phase !== 'running') return;
  if ('inDoubt' in at.settlement && state.reported !== undefined) {
    return closeCall(approvals, state, { cause: 'proven', result: state.reported });
  }
  if ('result' in at.settlement) {
    const { result, contentDigest, cause } = at.settlement;
    if (contentDigest !== undefined) state.contentDigest = contentDigest;
    return closeCall(approvals, state, { result, cause });
  }
  if ('askAgain' in at.settlement && isAskable(state.call, state.secret, at.settlement)) {
    return askAgain(approvals, state, { ...at.settlement, now: at.now });
  }
  delete state.votes;
  state.phase = 'in_doubt';
  state.since = at.now;
  state.doubt = 'askAgain' in at.settlement ? { message: at.settlement.askAgain } : at.settlement.inDoubt;
}

/**
 * Asks again because the decision does not hold in this run. The call never takes that decision again, and waits for
 * another decision.
 */
function askAgain(approvals: Approvals, state: CallState, at: AskAgain & { now: number }): void {
  const { callId } = state.call;
  if (approvals.cancelled) {
    const result = failureOf(state, ENDINGS.neverStarted, at.now);
    return closeCall(approvals, state, { cause: 'neverStarted', result });
  }
  voidVerdicts(approvals, { callId, ids: voidIds(state, at.struck), why: at.askAgain });
  state.voided = (state.voided ?? 0) + 1;
  if (at.mayHaveRun === true) state.mayHaveRun = true;
  strike(state, at);
  undoEdit(state);
  delete state.held;
  delete state.grant;
  delete state.standing;
  delete state.reported;
  state.note = at.askAgain;
  state.needsDecision = true;
  state.phase = 'request';
  state.since = at.now;
  state.deadline = deadlineOf(state.call, at.now);
}

/** Turns the verdicts on accepted messages into refusals: the same message, sent once more, changes nothing. */
export function voidVerdicts(
  approvals: Approvals,
  { callId, ids, why }: { callId: string; ids: readonly string[]; why: string },
): void {
  for (const decisionId of ids) {
    const spent = approvals.verdicts.get(decisionId);
    if (spent === undefined) continue;
    const message = `${why}; look again and decide anew`;
    const verdict: Refused = { accepted: false, code: 'stale_args', message, callId, decisionId };
    approvals.verdicts.set(decisionId, { ...spent, verdict });
  }
}

/**
 * Drops the new arguments that came with the decision. The arguments of an edit that became the request stay, because
 * the request shows them.
 */
function undoEdit(state: CallState): void {
  const { call } = state;
  if (state.effectiveDigest === call.argsDigest) return;
  state.effective = call.arguments;
  state.effectiveDigest = call.argsDigest;
  state.seenDigest = seenDigestOf(call);
  delete state.edit;
  delete state.proposed;
}

/** Closes every request and every question whose deadline has passed. */
export function expire(approvals: Approvals, now: number): void {
  for (const state of approvals.calls.values()) {
    const isOpen = state.phase === 'request' || state.phase === 'question';
    if (!isOpen || !isTooLate(state, now)) continue;
    const cause = state.phase === 'question' ? 'unanswered' : 'expired';
    closeCall(approvals, state, { cause, result: failureOf(state, ENDINGS[cause], now) });
  }
}

/**
 * Cancels the turn. Calls that have not started never will. Calls that run or are in doubt stay until their outcome is
 * known.
 */
export function cancelAll(approvals: Approvals, now: number): void {
  approvals.cancelled = true;
  for (const state of approvals.calls.values()) {
    if (!['request', 'question', 'replanning', 'ready'].includes(state.phase)) continue;
    const result = failureOf(state, ENDINGS.neverStarted, now);
    closeCall(approvals, state, { cause: 'neverStarted', result });
  }
}

/** What a person denied with, and the time (ISO 8601). */
interface Denial extends Denied {
  at: string;
}

/** Gives a call its final result. `cause` is set if the workflow closes the call by itself. */
export function closeCall(
  approvals: Approvals,
  state: CallState,
  { cause, result }: { cause?: ClosingCause; result: ToolResult },
): void {
  const { call, standing } = state;
  state.phase = 'done';
  state.deadline = null;
  state.result = result;
  approvals.closed.set(call.callId, { cause, standing });
  if (cause !== undefined) approvals.closings.set(call.callId, cause);
}

/** The result of a denied call. */
export function denialOf(state: CallState, denial: Denial): ToolResult {
  return failureOf(state, denied(denial), Date.parse(denial.at));
}

/**
 * An error result that the workflow makes at workflow time `now` (ms). It says that nothing ran only if that is
 * certain.
 */
export function failureOf(state: CallState, failure: ToolFailure, now: number): ToolResult {
  const said = mayHaveRun(state) ? afterDoubt(failure) : failure;
  return noted(state, makeFailure(resultHead(state), said, factsOf(state, now)));
}

/** A success that a person confirms. */
export function successOf(state: CallState, content: string, now: number): ToolResult {
  return noted(state, makeSuccess(resultHead(state), { content, contentType: 'text' }, factsOf(state, now)));
}

/** Puts the note about what a person changed or said in front of a result, once the call has started by a decision. */
export function noted(state: CallState, result: ToolResult): ToolResult {
  if (state.held?.spent !== true) return result;
  return { ...result, content: withNoteFirst(approvalNote(state), result.content) };
}

/** The note for a model about what a person changed or said. */
export function approvalNote({ held, edit, proposed, effective }: CallState): string | undefined {
  const changed = edit === undefined ? undefined : proposed;
  return decisionNote({ arguments: effective, decision: held, proposed: changed });
}

/** The facts about how a call ran, at workflow time `now` (ms). */
export function factsOf(state: CallState, now: number): ResultFacts {
  return {
    timestamp: new Date(now).toISOString(),
    safety: state.call.settings.safety,
    approved: state.held !== undefined || state.grant !== undefined,
  };
}

/**
 * Makes an edited call a request again, at workflow time `now` (ms). The request has a new preview for the new
 * arguments. If the new arguments could not be prepared, it has the old arguments and a note that says why.
 */
export function reopen(state: CallState, prepared: PreparedCall, now: number): void {
  if (state.phase !== 'replanning') return;
  const { renewal } = state;
  delete state.renewal;
  if (isValidCall(prepared)) adopt(state, prepared, renewal !== undefined);
  else if (renewal !== undefined) return keepAsked(state, renewal, prepared);
  else restore(state, prepared);
  state.seenDigest = seenDigestOf(state.call);
  state.phase = 'request';
  state.since = now;
  state.deadline = deadlineOf(state.call, now);
}

/**
 * Takes over the call as it was prepared with today's tool. It stays a request, whatever the policy says, because a
 * person edited it.
 */
function adopt(state: CallState, prepared: ValidCall, isRenewed: boolean): void {
  const authority = (isRenewed ? renewedAuthority : joinedAuthority)(state.call, prepared);
  state.call = { ...prepared, kind: 'ask', ...defined({ authority }) };
  delete state.votes;
  delete state.isEscalated;
  delete state.plan;
  const { preview } = prepared;
  if (preview?.plan !== undefined) state.plan = preview.plan;
  state.effective = prepared.arguments;
  state.effectiveDigest = prepared.argsDigest;
  delete state.note;
}

function restore(state: CallState, prepared: Exclude<PreparedCall, ValidCall>): void {
  state.effective = state.call.arguments;
  state.effectiveDigest = state.call.argsDigest;
  state.note = unpreviewed(prepared);
  delete state.edit;
  if (state.editBefore !== undefined) state.edit = state.editBefore;
}
