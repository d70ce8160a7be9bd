import type { Countersign, ListQuery } from '../client';
import type { CountersignError } from '../contract/errors';
import type { TurnEvent } from '../history/events';
import { unreadText } from '../history/stats-text';
import type { Screen } from './print/screen';

const SAY_EVERY_MS = 2_000;

/** Notes the progress every two seconds at a terminal. Calls `say` only for these notes. */
export async function withProgress<T>(
  { isTerminal, note }: Pick<Screen, 'isTerminal' | 'note'>,
  say: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (!isTerminal) return work();
  const ticker = setInterval(() => note(say()), SAY_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
  }
}

/**
 * Reads the turns of a query with progress, and passes on the events of each. Resolves to the number of turns that were
 * read. Turns that cannot be decrypted are counted in a note.
 *
 * @throws CountersignError with the reason of the first turn if no turn could be read.
 */
export async function readEachTurn(
  { client, screen }: { client: Countersign; screen: Pick<Screen, 'isTerminal' | 'note'> },
  query: ListQuery,
  take: (events: readonly TurnEvent[]) => Promise<void> | void,
): Promise<number> {
  const { readTurns } = await import('../client/read-turns.js');
  const turns = await client.list(query);
  let done = 0;
  const unread: CountersignError[] = [];
  const say = () => `read ${done} of ${turns.length} turns`;
  await withProgress(screen, say, async () => {
    for await (const events of readTurns(client, turns, (error) => unread.push(error))) {
      await take(events);
      done += 1;
    }
  });
  const [first] = unread;
  if (first && done === 0) throw first;
  if (first) screen.note(`${unreadText(unread.length)} ${first.message}`);
  return done;
}

/**
 * If the work takes more than two seconds, notes once what the work waits for. The note is written even without a
 * terminal, so that a log shows it.
 */
export async function withWaitingNote<T>(
  { note }: Pick<Screen, 'note'>,
  say: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => note(say()), SAY_EVERY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
