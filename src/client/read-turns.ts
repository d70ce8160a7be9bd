import type { TurnSummary } from './types';
import { CountersignError } from '../contract/errors';
import type { TurnEvent } from '../history/events';
import { unlessGone } from '../history/server-errors';

/**
 * The most histories that are read at the same time. This is enough to hide the latency, and does not load the server.
 */
export const AT_ONCE = 8;

/**
 * The events of turns, in the order of the turns. A turn that the server has deleted meanwhile is left out. A turn
 * whose payloads cannot be decrypted here is left out, too, and `onUnread` gets the reason.
 */
export async function* readTurns(
  client: { timeline(turn: string): Promise<TurnEvent[]> },
  turns: readonly Pick<TurnSummary, 'turn'>[],
  onUnread: (error: CountersignError) => void,
): AsyncGenerator<TurnEvent[]> {
  const read = async ({ turn }: Pick<TurnSummary, 'turn'>) => {
    try {
      return await unlessGone(client.timeline(turn));
    } catch (error) {
      if (!isUndecryptable(error)) throw error;
      onUnread(error);
      return undefined;
    }
  };
  for await (const events of mapOrdered(turns, AT_ONCE, read)) if (events !== undefined) yield events;
}

function isUndecryptable(error: unknown): error is CountersignError {
  return (
    error instanceof CountersignError && (error.code === 'key_missing' || error.code === 'payload_refused')
  );
}

/** Calls a function for each item, at most `most` at a time, and yields the results in the order of the items. */
export async function* mapOrdered<T, R>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for (const item of items) {
    const started = work(item);
    // The failure is thrown when the item's place in the order comes. Until that it must not count as unhandled.
    started.catch(() => undefined);
    running.push(started);
    if (running.length >= most) yield* next(running);
  }
  while (running.length > 0) yield* next(running);
}

async function* next<R>(running: Promise<R>[]): AsyncGenerator<R> {
  const first = running.shift();
  if (first !== undefined) yield await first;
}
