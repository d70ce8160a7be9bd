import type { Countersign, TurnSummary } from './types';
import { CountersignError } from '../contract/errors';
import type { TurnEvent } from '../history/events';
import { mapOrdered } from './ordered';

/** Histories that are read at once: enough to hide the way to the server, few enough not to load it. */
export const AT_ONCE = 8;

/** The events of turns, in their order. Turns that the server deleted meanwhile are left out. */
export async function* readTurns(
  desk: Pick<Countersign, 'timeline'>,
  turns: readonly TurnSummary[],
): AsyncGenerator<TurnEvent[]> {
  const read = ({ turn }: TurnSummary) => unlessGone(desk.timeline(turn));
  for await (const events of mapOrdered(turns, AT_ONCE, read)) if (events !== undefined) yield events;
}

/** What was read, or undefined where its retention was over before it could be. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'turn_not_found') return undefined;
    throw error;
  }
}
