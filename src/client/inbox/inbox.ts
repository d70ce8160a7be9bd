import { SEARCH_ATTRIBUTES } from '../../contract/names';
import type { ClientContext } from '../context';
import { LIST_PAGE } from '../list';
import type { InboxQuery } from '../requests';
import type { InboxItem } from '../types';
import { countTurns, earliestTurns, listUpTo, mostUrgentFirst } from './order';
import { readAllWaiting } from './reader';
import { waitingQueryOf, isWanted, itemsOf, type WaitingFilter } from './waiting';

const LIMIT = 100;

/**
 * Requests and calls in doubt of all turns and of all other workflows that gate calls. Calls in doubt come first, then
 * the earliest deadlines. Requests that never expire come last, oldest first. They are read from visibility, so this
 * works with every worker down. The history of a turn is read only if more is open than its memo names.
 */
export async function readInbox(context: ClientContext, query: InboxQuery): Promise<InboxItem[]> {
  const { limit = LIMIT, ...filter } = query;
  // If a whole page or more is wanted, listing everything that waits takes no more queries than looking for the
  // earliest items. And visibility does not know who may decide, so a page of its answers may have no item that is wanted.
  if (limit >= LIST_PAGE || filter.whom !== undefined)
    return (await readAllWaiting(context, filter)).slice(0, limit);
  const turns = await mostUrgentTurns(context, filter, limit);
  const items = await Promise.all(turns.map((turn) => itemsOf(context, turn)));
  const wanted = items.flat().filter((item) => isWanted(item, filter));
  return mostUrgentFirst(wanted).slice(0, limit);
}

/** The turns that may hold the most urgent items. Turns in doubt belong to them, and may have no deadline. */
async function mostUrgentTurns(context: ClientContext, filter: WaitingFilter, limit: number) {
  const query = waitingQueryOf(filter);
  // A filter by age uses another moment each time, so its query cannot be the key.
  const earliest = await earliestTurns(context, query, limit, JSON.stringify(filter));
  if (earliest.length < limit) return earliest;
  const inDoubt = await listUpTo(context, `${query} AND ${SEARCH_ATTRIBUTES.state} = 'in_doubt'`, limit);
  return [...new Map([...inDoubt, ...earliest].map((turn) => [turn.id, turn])).values()];
}

/** The number of requests and calls in doubt that wait in all turns. @throws CountersignError as `readInbox`. */
export async function countWaiting(context: ClientContext, filter: WaitingFilter = {}): Promise<number> {
  const { tool, olderThanMs, whom } = filter;
  // Visibility knows how many calls of a turn wait, but not which.
  if (tool !== undefined || olderThanMs !== undefined || whom !== undefined)
    return (await readAllWaiting(context, filter)).length;
  let total = 0;
  // Visibility cannot add up counts, so we add the counts of turns with at least 1, at least 2, … waiting calls. Few
  // turns wait with many calls.
  for (let least = 1; ; least++) {
    const count = await countTurns(
      context,
      `${waitingQueryOf(filter)} AND ${SEARCH_ATTRIBUTES.pending} >= ${least}`,
    );
    if (count === 0) return total;
    total += count;
  }
}
