import { rootOf } from '../decode/failure';
import type { EventOf } from '../decode/events';
import { defined } from '../defined';
import type { TurnEvent } from '../events';
import { is } from './guards';
import { headOf, type FoldState } from './state';

type Of = { callId: string; generation: number };

/**
 * What the tool's check said becomes proof; it settles the doubt only if no person was first, which the memo of the
 * same workflow task tells.
 */
export function verifyCompleted(state: FoldState, event: EventOf<'activity_completed'>, of: Of): TurnEvent[] {
  const answer = is.verifyOutput(event.result) ? event.result : undefined;
  const held = state.calls.get(of.callId);
  if (held?.phase === 'lost' && held.generation === of.generation) {
    if (answer?.outcome === 'happened') held.proof = answer.result;
    if (answer?.outcome === 'did_not') held.proof = { code: 'transport', message: answer.message };
  }
  const message = answer === undefined || answer.outcome === 'happened' ? undefined : answer.message;
  const outcome = answer?.outcome ?? 'cannot_tell';
  return [{ type: 'verified', ...headOf(event), callId: of.callId, outcome, ...defined({ message }) }];
}

export function verifyFailed(event: EventOf<'activity_failed'>, of: Of): TurnEvent[] {
  const { kind, message } = rootOf(event.failure);
  if (kind === 'canceled') return [];
  return [{ type: 'verified', ...headOf(event), callId: of.callId, outcome: 'cannot_tell', message }];
}
