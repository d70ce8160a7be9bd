import { withDecisionNote } from '../../contract/decision-note';
import { denied } from '../../contract/endings';
import { makeFailure, makeSuccess, type ResultFacts, type ResultHead } from '../../contract/make-result';
import type { ToolFailure, ToolResult } from '../../contract/result';
import type { Approvals, CallState } from './state';

/** Who denied, why, and when (ISO 8601). */
export interface Denial {
  approver: string;
  reason: string | undefined;
  at: string;
}

/** Gives a call its result. Nothing changes it afterwards. */
export function closeCall(
  approvals: Approvals,
  state: CallState,
  end: { why: 'decided' | 'expired' | 'cancelled'; result: ToolResult },
): void {
  state.phase = 'done';
  state.deadline = null;
  state.result = end.result;
  const standing = state.standing;
  approvals.closed.set(state.call.callId, { why: end.why, ...(standing === undefined ? {} : { standing }) });
}

/** The result of a call that a person said no to. */
export function denialOf(state: CallState, denial: Denial): ToolResult {
  return failureOf(state, denied(denial), Date.parse(denial.at));
}

/** An error result made by the workflow at workflow time `now` (ms). */
export function failureOf(state: CallState, failure: ToolFailure, now: number): ToolResult {
  return noted(state, makeFailure(headOf(state), failure, factsOf(state, now)));
}

/** A success that a person vouches for. */
export function successOf(state: CallState, content: string, now: number): ToolResult {
  return noted(state, makeSuccess(headOf(state), { content, contentType: 'text' }, factsOf(state, now)));
}

/** A result as the model reads it: after what a person changed, where a decision allowed the call. */
export function noted(state: CallState, result: ToolResult): ToolResult {
  const { held, edit, proposed, effective } = state;
  if (held === undefined || edit === undefined || proposed === undefined) return result;
  const call = { decision: { ...held, edit }, proposed, arguments: effective };
  return { ...result, content: withDecisionNote(call, result.content) };
}

function headOf({ call, effective }: CallState): ResultHead {
  return { id: call.id, callId: call.callId, tool: call.tool, arguments: effective };
}

function factsOf(state: CallState, now: number): ResultFacts {
  return {
    timestamp: new Date(now).toISOString(),
    safety: state.call.settings.safety,
    approved: state.held !== undefined,
  };
}
