import { temporal } from '@temporalio/proto';
import type { History } from '../../../history/read-histories';

const { History: Events, HistoryEvent } = temporal.api.history.v1;

/** A history on its way to another process: the first event and the rest, as protobuf has them. */
export interface PassedOn {
  first: Uint8Array;
  rest: Uint8Array;
}

/** Packs a history. */
export function packHistory({ events }: History): PassedOn {
  const [first = {}, ...rest] = events ?? [];
  return { first: HistoryEvent.encode(first).finish(), rest: Events.encode({ events: rest }).finish() };
}

/**
 * The history for the SDK, which looks at the first event and makes bytes of all of them. To read the rest for that takes a
 * third as long as to replay it, so it is left as it is: protobuf writes what it does not know as it came.
 */
export function unpackHistory({ first, rest }: PassedOn): History {
  return Object.assign(Events.create({ events: [HistoryEvent.decode(first)] }), { $unknowns: [rest] });
}
