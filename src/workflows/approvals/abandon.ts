import { unresolved } from '../../contract/call-texts';
import type { Abandonment } from '../../contract/decision';
import type { Approvals, CallState } from './state';
import { closeCall, failureOf } from './transitions';
import { checkAllowed } from './votes';
import { isCancelled } from './doubts';

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
