import type { TurnEvent } from './events';
import { countAt, type Point } from './point';
import { transcriptOf, type TranscriptAt } from './transcript';
import { viewOf, type TurnView } from './view';

/** A turn as it was at a moment: what was open, where each call was, and the messages. */
export interface TurnMoment {
  /** How many turn events had happened. */
  count: number;
  /** The history event that was the last, and when; 0 and '' before the first. */
  eventId: number;
  at: string;
  view: TurnView;
  transcript: TranscriptAt;
}

/** The turn after its first `count` events; pure, for a scrubber as for a command line. */
export function stateAfter(events: readonly TurnEvent[], count: number): TurnMoment {
  const past = events.slice(0, count);
  const last = past.at(-1);
  const moment = { count: past.length, eventId: last?.eventId ?? 0, at: last?.at ?? '' };
  return { ...moment, view: viewOf(past), transcript: transcriptOf(past) };
}

/**
 * The turn at a point.
 *
 * @throws CountersignError `point_not_found`.
 */
export function stateAt(events: readonly TurnEvent[], point: Point): TurnMoment {
  return stateAfter(events, countAt(events, point));
}
