import { ENDINGS } from '../contract/call-texts';
import { giveUp } from './doubts';
import type { LifeEvent } from './events';
import { isTooLate } from './messages';
import { failureOf } from './results';
import { neverStarted } from './outcomes';
import { type Approvals, type CallState, isOpen } from './state';
import { escalationOf } from './votes';

/** When the next request expires or is escalated, as workflow time in ms. Null: never. */
export function nextDeadline({ calls }: Approvals): number | null {
  const times = [...calls.values()].flatMap((state) =>
    [isOpen(state) ? state.deadline : null, escalationOf(state)].flatMap((at) => at ?? []),
  );
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * What is due at workflow time `now` (ms): requests and questions expire, requests are escalated so that more people may
 * decide, and calls in doubt are given up.
 */
export function whatIsDue(approvals: Approvals, now: number): LifeEvent[] {
  const timed = [...approvals.calls.values()].flatMap((state): LifeEvent[] => {
    const { callId } = state.call;
    if (isOpen(state) && isTooLate(state, now)) {
      const cause = state.phase === 'question' ? 'unanswered' : 'expired';
      return [{ type: 'closed', callId, cause, result: failureOf(state, ENDINGS[cause], now), at: now }];
    }
    const at = escalationOf(state);
    return at !== null && now >= at ? [{ type: 'escalated', callId }] : [];
  });
  return [...timed, ...giveUp(approvals, now)];
}

/**
 * Cancels the turn. Calls that have not started never will. Calls that run or are in doubt stay until their outcome is
 * known.
 */
export function cancelAll({ calls }: Approvals, now: number): LifeEvent[] {
  const closed = [...calls.values()].flatMap((state) =>
    ['request', 'question', 'preparing', 'ready'].includes(state.phase) ? [neverStarted(state, now)] : [],
  );
  return [{ type: 'cancelled' }, ...closed];
}

/** Takes back a call that has not started: an undecided request, or a call that was allowed or is prepared again. */
export function withdraw(state: CallState | undefined, now: number): LifeEvent[] {
  if (state?.phase === 'ready' || state?.phase === 'preparing') return [neverStarted(state, now)];
  if (state?.phase !== 'request') return [];
  const result = failureOf(state, ENDINGS.withdrawn, now);
  return [{ type: 'closed', callId: state.call.callId, cause: 'withdrawn', result, at: now }];
}
