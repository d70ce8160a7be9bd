import type { PreparedCall } from '../../contract/call';
import { askFirst } from '../../contract/fork';
import { rootOf } from '../decode/failure';
import type { EventOf } from '../decode/events';
import type { EventHead, TurnEvent } from '../events';
import { is } from './guards';
import { ENDINGS, unprepared } from '../../contract/endings';
import { failureResult } from './results';
import { endCall, headOf, type CallFold, type FoldState } from './state';
import { endUnrun, newCall, proposedOf } from './think';

/** A call is prepared on its own queue, or anew with a person's arguments. */
export function prepareCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  callId: string,
): TurnEvent[] {
  const held = state.calls.get(callId);
  if (held === undefined) return [];
  if (!is.prepareOutput(event.result))
    return closeUnprepared(event, held, 'what was prepared cannot be read');
  const call = preparedAs(held.call, event.result.call);
  const { schema } = event.result;
  const told: TurnEvent = { type: 'call_prepared', ...headOf(event), call: proposedOf(call) };
  if (held.phase === 'replanning') {
    replan(held, call);
    return [told];
  }
  state.calls.set(callId, newCall(call, schema));
  return [told, ...endUnrun(state, event)];
}

/** As the workflow takes it: on to the queue that has its tool, or to a person first. */
function preparedAs(asked: PreparedCall, prepared: PreparedCall): PreparedCall {
  if (asked.kind !== 'remote') return prepared;
  return prepared.kind === 'remote' ? { ...asked, taskQueue: prepared.taskQueue } : askFirst(asked, prepared);
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
    held.fate = ENDINGS.neverStarted;
    return [];
  }
  return closeUnprepared(event, held, root.message);
}

function closeUnprepared(head: EventHead, held: CallFold, why: string): TurnEvent[] {
  if (held.phase === 'replanning') {
    held.planned = true;
    if (held.call.kind === 'ask') held.effective = held.call.arguments;
    return [];
  }
  const result = failureResult(held, unprepared(held.call.tool, why), head.at);
  return endCall(head, held, { result, durationMs: null, attempts: 0, origin: 'turn' });
}
