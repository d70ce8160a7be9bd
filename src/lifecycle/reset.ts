import { STARTED_BEFORE, VOTED_BEFORE } from '../contract/call-texts';
import type { LifeEvent } from './events';
import type { Approvals, CallState } from './state';

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
export function takeReset({ calls }: Approvals, now: number): LifeEvent[] {
  return [...calls.values()].flatMap((state): LifeEvent[] => {
    const { callId } = state.call;
    const doubt = { message: STARTED_BEFORE };
    const outdated = { type: 'outdated' as const, callId };
    return isGateStart(state)
      ? [outdated, { type: 'lost', callId, doubt, at: now }]
      : [outdated, ...voidVotes(state)];
  });
}

function isGateStart({ call: { settings }, phase }: CallState) {
  const isAllowed = phase === 'ready' || phase === 'running';
  return isAllowed && settings.gate?.activity !== undefined && settings.effect === 'unsafe';
}

function voidVotes({ call: { callId }, phase, votes }: CallState): LifeEvent[] {
  if (votes.length === 0 || !['request', 'preparing', 'in_doubt'].includes(phase)) return [];
  const ids = votes.map(({ decisionId }) => decisionId);
  return [
    { type: 'verdicts_voided', callId, ids, why: VOTED_BEFORE },
    { type: 'votes_voided', callId },
  ];
}
