import type { OutcomeReport } from '../../contract/call';
import type { ToolResult } from '../../contract/result';
import type { Approvals, CallState } from './state';
import { closeCall, noted } from './transitions';

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
