import type { TurnEvent } from './events';

/** What of the events so far still counts: a reset takes back what came before it. The reset itself stays. */
export function standingEvents(events: readonly TurnEvent[]): TurnEvent[] {
  return events.reduce<TurnEvent[]>((standing, event) => {
    const kept = event.type === 'reset' ? withoutUndone(standing, event.eventId) : standing;
    kept.push(event);
    return kept;
  }, []);
}

/** A reset takes back what its run did from the reset's event on; earlier runs of the chain stand. */
export function withoutUndone(events: readonly TurnEvent[], from: number): TurnEvent[] {
  const start = events.findLastIndex((event) => event.type === 'turn_started');
  return events.filter((event, index) => index < start || event.eventId < from);
}
