import { callOfChild, type ChildEnd, childResult, readChildEnd } from '../../contract/turn';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { resultHead } from '../../contract/result';
import { factsOf, noted } from '../../lifecycle/results';
import type { EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import type { EventHeader, TurnEvent } from '../events';
import { ensureCall } from './calls';
import { callHeader, endCall, lifeOf, timeOf } from './lives';
import type { CallFold, FoldState } from './state';

/** The child turn of a call started or ended. */
export function childChanged(
  state: FoldState,
  event: EventOf<'child_started'> | EventOf<'child_ended'>,
): TurnEvent[] {
  const callId = callOfChild(state.turn, event.child);
  const held = callId === undefined ? undefined : state.calls.get(callId);
  if (held === undefined) return [];
  return event.kind === 'child_started'
    ? [childStarted(state, event, held, event.child)]
    : endChild(state, event, { held, ...event });
}

function childStarted(state: FoldState, head: EventHeader, held: CallFold, child: string): TurnEvent {
  const { callId, tool } = held.call;
  held.child = child;
  return { type: 'child_started', ...callHeader(state, head, callId), tool, child };
}

/** An earlier run of the turn has started the child turn, and an activity waits for the end of the child. */
export function childAwaited(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  callId: string,
): TurnEvent[] {
  const child = isObject(event.input) ? event.input['child'] : undefined;
  return typeof child === 'string' ? [childStarted(state, event, ensureCall(state, callId), child)] : [];
}

export function childWaitEnded(
  state: FoldState,
  event: EventOf<'activity_completed'> | EventOf<'activity_failed'>,
  callId: string,
): TurnEvent[] {
  const held = ensureCall(state, callId);
  return endChild(state, event, { held, child: held.child ?? '', end: waitEnd(event) });
}

/** How the child turn ended, read as the workflow reads it. */
function waitEnd(event: EventOf<'activity_completed'> | EventOf<'activity_failed'>): ChildEnd {
  if (event.kind === 'activity_completed')
    return readChildEnd(event.result) ?? { kind: 'completed', result: undefined };
  const { kind, message } = rootOf(event.failure);
  return kind === 'canceled' ? { kind: 'cancelled' } : { kind: 'failed', message };
}

function endChild(
  state: FoldState,
  head: EventHeader,
  { held, child, end }: { held: CallFold; child: string; end: ChildEnd },
): TurnEvent[] {
  const life = lifeOf(state, held);
  const of = {
    child,
    head: resultHead(life),
    facts: factsOf(life, timeOf(head)),
    outputBytes: life.call.settings.child?.outputBytes ?? LIMITS.outputBytes,
  };
  const result = noted(life, childResult(end, of));
  const durationMs = held.startedAt === undefined ? null : Date.parse(head.at) - Date.parse(held.startedAt);
  return endCall(state, head, held, { result, durationMs, attempts: 1, origin: 'handler', ...held.leave });
}
