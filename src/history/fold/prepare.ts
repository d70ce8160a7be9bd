import type { PreparedCall } from '../../contract/call';
import { rootOf } from '../decode/failure';
import type { EventOf } from '../decode/events';
import type { EventHead, TurnEvent } from '../events';
import { is } from './guards';
import { failureResult, NEVER_STARTED } from './results';
import { endCall, headOf, type CallFold, type FoldState } from './state';
import { endInvalid, newCall, proposedOf } from './think';

/** A call is prepared on its own queue, or anew with a person's arguments. */
export function prepareCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  callId: string,
): TurnEvent[] {
  const held = state.calls.get(callId);
  if (held === undefined) return [];
  if (!is.prepareOutput(event.result)) return unprepared(event, held, 'what was prepared cannot be read');
  const { call, schema } = event.result;
  const told: TurnEvent = { ...headOf(event), type: 'call_prepared', call: proposedOf(call) };
  if (held.phase === 'replanning') {
    replan(held, call);
    return [told];
  }
  state.calls.set(callId, newCall(call, schema));
  return [told, ...endInvalid(state, event)];
}

/** An edit that could not be planned puts back what was; it becomes a request again either way. */
function replan(held: CallFold, call: PreparedCall): void {
  held.planned = true;
  if (held.call.kind !== 'run' && held.call.kind !== 'ask') return;
  if (call.kind !== 'run' && call.kind !== 'ask') {
    held.effective = held.call.arguments;
    return;
  }
  const { preview = held.call.preview, arguments: args, argsDigest } = call;
  held.call = { ...held.call, arguments: args, argsDigest, ...(preview === undefined ? {} : { preview }) };
  held.effective = args;
}

export function prepareFailed(
  state: FoldState,
  event: EventOf<'activity_failed'>,
  callId: string,
): TurnEvent[] {
  const held = state.calls.get(callId);
  if (held === undefined) return [];
  const root = rootOf(event.failure);
  if (root.kind === 'canceled') {
    held.fate = NEVER_STARTED;
    return [];
  }
  return unprepared(event, held, root.message);
}

function unprepared(head: EventHead, held: CallFold, why: string): TurnEvent[] {
  if (held.phase === 'replanning') {
    held.planned = true;
    if (held.call.kind === 'ask') held.effective = held.call.arguments;
    return [];
  }
  const message = `The worker that has ${held.call.tool} could not prepare this call: ${why}. Nothing ran.`;
  const result = failureResult(held, { code: 'transport', message }, head.at);
  return endCall(head, held, { result, durationMs: null, attempts: 0, origin: 'turn' });
}
