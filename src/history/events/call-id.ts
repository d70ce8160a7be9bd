import type { TurnEvent } from '../events';

/** The call that an event is about, or says it is; undefined for events of the turn. */
export function callIdOf(event: TurnEvent): string | undefined {
  if (event.type === 'call_prepared') return event.call.callId;
  return 'callId' in event ? event.callId : undefined;
}
