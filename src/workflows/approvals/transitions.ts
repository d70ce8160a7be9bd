import type { OutcomeReport, SpentDecision, ValidCall } from '../../contract/call';
import { ENDINGS } from '../../contract/endings';
import type { ToolResult } from '../../contract/result';
import { closeCall, failureOf, noted } from './close';
import type { Approvals, CallState, HeldDecision, Settlement } from './state';

/** Registers a prepared call at workflow time `now` (ms). From here on decisions can reach it. */
export function register(
  approvals: Approvals,
  call: ValidCall,
  at: { callKey: string; now: number },
): CallState {
  const state: CallState = {
    call,
    callKey: at.callKey,
    generation: 0,
    phase: call.kind === 'ask' ? 'request' : 'ready',
    gated: call.kind === 'ask',
    since: at.now,
    deadline: call.kind === 'ask' ? deadlineOf(call, at.now) : null,
    effective: call.arguments,
    effectiveDigest: call.argsDigest,
    ...(call.preview?.plan === undefined ? {} : { plan: call.preview.plan }),
  };
  approvals.calls.set(call.callId, state);
  return state;
}

function deadlineOf(call: ValidCall, now: number): number | null {
  return call.settings.requestExpiresMs === null ? null : now + call.settings.requestExpiresMs;
}

/**
 * Marks a ready call as running and spends its decision.
 * Throws where a gated call has no unspent decision for exactly these arguments and this generation: the last
 * line of defence, never reached unless this folder has a bug.
 */
export function start(state: CallState): SpentDecision | undefined {
  if (state.phase !== 'ready') throw new Error(`call ${state.call.callId} is ${state.phase}, not ready`);
  if (state.gated) spend(state);
  state.phase = 'running';
  return state.held === undefined ? undefined : spentPart(state.held);
}

function spend(state: CallState): void {
  const { held } = state;
  const matches =
    held !== undefined &&
    !held.spent &&
    held.argsDigest === state.effectiveDigest &&
    held.generation === state.generation;
  if (!matches) throw new Error(`call ${state.call.callId} has no unspent decision that matches it`);
  held.spent = true;
}

function spentPart({ decisionId, decision, approver, reason, hunks, edit }: HeldDecision): SpentDecision {
  return {
    decisionId,
    decision,
    approver,
    ...(reason === undefined ? {} : { reason }),
    ...(hunks === undefined ? {} : { hunks }),
    ...(edit === undefined ? {} : { edit }),
  };
}

/**
 * Hands an allowed call over to whoever asked for it: its decision is spent, and what it does is no longer ours.
 * Throws as `start` does.
 */
export function handOver(approvals: Approvals, state: CallState): SpentDecision {
  const decision = start(state);
  if (decision === undefined) throw new Error(`call ${state.call.callId} was never asked about`);
  const { standing } = state;
  approvals.closed.set(state.call.callId, {
    why: 'decided',
    ...(standing === undefined ? {} : { standing }),
  });
  return decision;
}

/** Takes back one request that nobody has decided, at workflow time `now` (ms). */
export function withdraw(approvals: Approvals, state: CallState, now: number): void {
  if (state.phase !== 'request') return;
  closeCall(approvals, state, { why: 'cancelled', result: failureOf(state, ENDINGS.withdrawn, now) });
}

/** What the activity of a running call came to. */
export function settle(
  approvals: Approvals,
  state: CallState,
  at: { settlement: Settlement; now: number },
): void {
  if (state.phase !== 'running') return;
  if ('inDoubt' in at.settlement && state.reported !== undefined) {
    return closeCall(approvals, state, { why: 'decided', result: state.reported });
  }
  if ('result' in at.settlement) {
    if (at.settlement.contentDigest !== undefined) state.contentDigest = at.settlement.contentDigest;
    return closeCall(approvals, state, { why: 'decided', result: at.settlement.result });
  }
  state.phase = 'in_doubt';
  state.since = at.now;
  state.doubt = at.settlement.inDoubt;
}

/** Settles a doubt by proof: what `verify` found, or what the call itself reported late. A person who was first stays first. */
export function settleDoubt(approvals: Approvals, state: CallState, result: ToolResult): boolean {
  if (state.phase !== 'in_doubt') return false;
  closeCall(approvals, state, { why: 'decided', result: noted(state, result) });
  return true;
}

/**
 * A late call reports its outcome. It settles the doubt only of the same key and generation. One that comes before the
 * loss itself is known (both can be in one workflow task) is kept until then.
 */
export function report(approvals: Approvals, outcome: OutcomeReport): boolean {
  const state = [...approvals.calls.values()].find((one) => one.callKey === outcome.callKey);
  if (state === undefined || state.generation !== outcome.generation) return false;
  if (state.phase === 'running') state.reported = outcome.result;
  return settleDoubt(approvals, state, outcome.result);
}

/** Closes every request whose deadline is over. */
export function expire(approvals: Approvals, now: number): void {
  for (const state of approvals.calls.values()) {
    if (state.phase !== 'request' || state.deadline === null || now < state.deadline) continue;
    closeCall(approvals, state, { why: 'expired', result: failureOf(state, ENDINGS.expired, now) });
  }
}

/** Cancels the turn: what has not started never will; what runs or is in doubt stays until it is known. */
export function cancelAll(approvals: Approvals, now: number): void {
  approvals.cancelled = true;
  for (const state of approvals.calls.values()) {
    if (!['request', 'replanning', 'ready'].includes(state.phase)) continue;
    closeCall(approvals, state, { why: 'cancelled', result: failureOf(state, ENDINGS.neverStarted, now) });
  }
}

/**
 * Ends calls in doubt as unresolved. Only in a turn that was both cancelled and abandoned: before that a call in
 * doubt is somebody's question.
 */
export function sweepAbandoned(approvals: Approvals, now: number): void {
  const { abandoned, cancelled } = approvals;
  if (!cancelled || abandoned === undefined) return;
  for (const state of approvals.calls.values()) {
    if (state.phase !== 'in_doubt') continue;
    const why = abandoned.reason === undefined ? '' : ` ${abandoned.reason}`;
    const message = `Unresolved: ${abandoned.approver ?? 'somebody'} ended the turn with this call in doubt.${why}`;
    closeCall(approvals, state, {
      why: 'decided',
      result: failureOf(state, { code: 'in_doubt', message }, now),
    });
  }
}
