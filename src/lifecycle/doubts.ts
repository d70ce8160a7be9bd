import type { OutcomeReport, VerifyOutput } from '../contract/call';
import { unresolved } from '../contract/call-texts';
import type { Abandonment } from '../contract/decision';
import type { ToolResult } from '../contract/result';
import type { LifeEvent } from './events';
import { failureOf, noted } from './results';
import { type Approvals, type CallState, type DoubtedCall, isCancelled, secretOf } from './state';
import { checkAllowed } from './votes';

/** Settles a doubt by proof: the answer of `verify`, or a late outcome. Nothing if the call is not in doubt. */
export function prove(state: CallState | undefined, result: ToolResult, now: number): LifeEvent[] {
  if (state?.phase !== 'in_doubt') return [];
  const { callId } = state.call;
  return [{ type: 'closed', callId, cause: 'proven', result: noted(state, result), at: now }];
}

/** The result that the answer of a check proves. Undefined: it proves nothing, and a person has to look. */
export function proofIn(state: DoubtedCall, answer: VerifyOutput, now: number): ToolResult | undefined {
  if (answer.outcome === 'happened') return answer.result;
  // The handler still runs, so the call may still take effect.
  if (answer.outcome === 'cannot_tell' || state.doubt.running === true) return undefined;
  return failureOf(state, { code: 'transport', message: answer.message }, now);
}

/**
 * A late outcome of the call with the same key, generation and secret, if that call is in doubt. One workflow task can
 * bring both the outcome and the loss of its call. If the outcome comes first, it is kept until the loss is known.
 */
export function takeOutcome({ calls }: Approvals, outcome: OutcomeReport, now: number): LifeEvent[] {
  const state = [...calls.values()].find((one) => one.callKey === outcome.callKey);
  if (state === undefined || state.generation !== outcome.generation) return [];
  const secret = secretOf(state);
  if (secret === undefined || secret !== outcome.secret) return [];
  const { result } = outcome;
  if (state.phase === 'running') return [{ type: 'reported', callId: state.call.callId, result }];
  return prove(state, result, now);
}

/**
 * Takes the request to give up calls in doubt. An earlier request stays if its sender may give up a call that the new
 * sender may not give up.
 */
export function takeAbandonment(approvals: Approvals, said: Abandonment, now: number): LifeEvent[] {
  const { abandoned: before, calls } = approvals;
  const by = { ...said, at: now };
  const isLess = (state: CallState) =>
    before !== undefined && whyKept(state, before) === undefined && whyKept(state, by) !== undefined;
  return [...calls.values()].some(isLess) ? [] : [{ type: 'abandoned', by }];
}

/** Why this person might not give up a call when they asked to, and who may. Undefined: this person might. */
function whyKept(state: CallState, { approver, at }: Abandonment & { at: number }) {
  return checkAllowed(state, { callId: state.call.callId, approver }, at)?.message;
}

/**
 * Ends calls in doubt as unresolved once they are both cancelled and abandoned. Before that, a person can resolve them.
 */
export function giveUp(approvals: Approvals, now: number): LifeEvent[] {
  const { abandoned, calls } = approvals;
  if (abandoned === undefined) return [];
  return [...calls.values()].flatMap((state): LifeEvent[] => {
    if (state.phase !== 'in_doubt' || !isCancelled(approvals, state)) return [];
    const { callId } = state.call;
    const why = whyKept(state, abandoned);
    if (why === undefined) {
      const result = failureOf(state, unresolved(abandoned), now);
      return [{ type: 'closed', callId, cause: 'abandoned', result, at: now }];
    }
    const note = `not given up: ${why}`;
    return note === state.note ? [] : [{ type: 'noted', callId, note }];
  });
}
