import { STARTED_BEFORE, VOTED_BEFORE } from '../../contract/call-texts';
import type { Approvals, CallState } from './state';
import { voidVerdicts } from './transitions';

/**
 * Whether a decision on a call is void if a reset applies it again. Votes are for the run in which they were cast, and
 * the activity of a gate has no worker that would look at history. Any other call has one.
 */
export function isVoidAfterReset({ call }: CallState): boolean {
  return call.settings.gate !== undefined || call.authority !== undefined;
}

/**
 * Voids what was said before a reset, at workflow time `now` (ms). Votes on calls that wait do not count. The worker of
 * a call that was decided on learns that the decision is old. An unsafe call that a gate was to run is in doubt, because
 * the run before the reset may have started it.
 */
export function takeReset(approvals: Approvals, now: number): void {
  for (const state of approvals.calls.values()) {
    if (state.held !== undefined) state.held.isOld = true;
    if (isGateStart(state))
      Object.assign(state, { phase: 'in_doubt', since: now, doubt: { message: STARTED_BEFORE } });
    else voidVotes(approvals, state);
  }
}

function isGateStart({ call: { settings }, phase }: CallState): boolean {
  const isAllowed = phase === 'ready' || phase === 'running';
  return isAllowed && settings.gate?.activity !== undefined && settings.effect === 'unsafe';
}

function voidVotes(approvals: Approvals, state: CallState): void {
  const { call, phase, votes = [] } = state;
  if (votes.length === 0 || !['request', 'replanning', 'in_doubt'].includes(phase)) return;
  const ids = votes.map(({ decisionId }) => decisionId);
  voidVerdicts(approvals, { callId: call.callId, ids, why: VOTED_BEFORE });
  delete state.votes;
  state.note = VOTED_BEFORE;
}
