import { unresolved } from '../../contract/call-texts';
import type { OutcomeReport } from '../../contract/call';
import type { Abandonment } from '../../contract/decision';
import type { ToolResult } from '../../contract/result';
import type { Approvals, CallState } from './state';
import { closeCall, failureOf, noted } from './transitions';
import { checkAllowed } from './votes';

/**
 * Settles a doubt by proof: the answer of `verify`, or a late outcome. False: the call is not in doubt, or no longer.
 */
export function settleDoubt(approvals: Approvals, state: CallState, result: ToolResult): boolean {
  if (state.phase !== 'in_doubt') return false;
  closeCall(approvals, state, { cause: 'proven', result: noted(state, result) });
  return true;
}

/**
 * Applies a late outcome to the call with the same key, generation and secret, if that call is in doubt. One
 * workflow task can bring both the outcome and the loss of its call. If the outcome comes first, it is kept until
 * the loss is known.
 */
export function takeOutcome(approvals: Approvals, outcome: OutcomeReport): boolean {
  const state = [...approvals.calls.values()].find((one) => one.callKey === outcome.callKey);
  if (state === undefined || state.generation !== outcome.generation) return false;
  if (state.secret === undefined || state.secret !== outcome.secret) return false;
  if (state.phase === 'running') state.reported = outcome.result;
  return settleDoubt(approvals, state, outcome.result);
}

/** Whether a call was cancelled, with its turn or alone. */
export function isCancelled({ cancelled }: Pick<Approvals, 'cancelled'>, state: CallState): boolean {
  return cancelled || state.cancelled === true;
}

/**
 * Takes the request to give up calls in doubt. An earlier request stays if its sender may give up a call that the new
 * sender may not give up.
 */
export function takeAbandonment(approvals: Approvals, abandonment: Abandonment, now: number): void {
  const { abandoned: before } = approvals;
  const asked = { ...abandonment, at: now };
  const isLess = (state: CallState): boolean =>
    before !== undefined && whyKept(state, before) === undefined && whyKept(state, asked) !== undefined;
  if (![...approvals.calls.values()].some(isLess)) approvals.abandoned = asked;
}

/** Why this person might not give up a call when they asked to, and who may. Undefined: this person might. */
function whyKept(state: CallState, { approver, at }: Abandonment & { at: number }): string | undefined {
  return checkAllowed(state, { callId: state.call.callId, approver }, at)?.message;
}

/**
 * Ends calls in doubt as unresolved once they are both cancelled and abandoned. Before that, a person can resolve them.
 */
export function sweepAbandoned(approvals: Approvals, now: number): void {
  const { abandoned } = approvals;
  if (abandoned === undefined) return;
  for (const state of approvals.calls.values()) {
    if (state.phase !== 'in_doubt' || !isCancelled(approvals, state)) continue;
    const why = whyKept(state, abandoned);
    if (why !== undefined) state.note = `not given up: ${why}`;
    else
      closeCall(approvals, state, {
        cause: 'abandoned',
        result: failureOf(state, unresolved(abandoned), now),
      });
  }
}
