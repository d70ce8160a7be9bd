import { NEVER, SEARCH_ATTRIBUTES } from '../contract/names';
import { ask, type Desk } from './desk';

/** One turn as visibility lists it. */
export interface ListedTurn {
  id: string;
  agent: string;
  memo: Record<string, unknown>;
}

/** The first window reaches this far; each next one twice as far. */
const FIRST_MS = 60 * 60_000;
/** A window is narrowed until it holds at most this many pages: sorting more in memory costs more than asking again. */
const PAGES = 3;
/** Halving a window this often is fine enough for any deadline that a person can tell from another. */
const HALVINGS = 30;

/**
 * The turns with the earliest deadlines that match a query, at least `limit` of them where there are so many, in no
 * order. Visibility cannot sort, so a bound is looked for under which there is about one page.
 */
export async function earliestTurns(desk: Desk, query: string, limit: number): Promise<ListedTurn[]> {
  const count = (at: number): Promise<number> => countTurns(desk, `${query} AND ${before(at)}`);
  const bound =
    (await boundOfLast(desk, query, { limit, count })) ?? (await newBound(desk, query, { limit, count }));
  if (bound === undefined) return listUpTo(desk, query, limit);
  lastBounds.set(desk, { query, bound });
  return listUpTo(desk, `${query} AND ${before(bound)}`, limit * PAGES);
}

/** Who looks again mostly finds what the last look found: the same bound holds until a page of it is decided. */
const lastBounds = new WeakMap<Desk, { query: string; bound: number }>();

/** What is looked for: how many turns a bound must have below it, and how they are counted. */
interface Search {
  limit: number;
  count(at: number): Promise<number>;
}

async function boundOfLast(desk: Desk, query: string, { limit, count }: Search): Promise<number | undefined> {
  const last = lastBounds.get(desk);
  if (last?.query !== query) return undefined;
  const found = await count(last.bound);
  return found >= limit && found <= limit * PAGES ? last.bound : undefined;
}

/** Undefined where there are so few turns that no bound is needed. */
async function newBound(desk: Desk, query: string, search: Search): Promise<number | undefined> {
  // Counting is cheap; listing decodes what it lists.
  return (await countTurns(desk, query)) <= search.limit ? undefined : findBound(search);
}

/** A time such that at least `limit` turns, and not many more, have a deadline before it. */
async function findBound({ limit, count }: Search): Promise<number> {
  const now = Date.now();
  const last = Date.parse(NEVER) + 1;
  let low = 0;
  let high = now + FIRST_MS;
  let found = await count(high);
  while (found < limit && high < last) {
    low = high;
    high = Math.min(last, now + (high - now) * 2);
    found = await count(high);
  }
  for (let halved = 0; halved < HALVINGS && found > limit * PAGES && high - low > 1; halved++) {
    const middle = Math.floor((low + high) / 2);
    const below = await count(middle);
    if (below < limit) low = middle;
    else [high, found] = [middle, below];
  }
  return high;
}

function before(at: number): string {
  return `${SEARCH_ATTRIBUTES.deadline} < '${new Date(at).toISOString()}'`;
}

async function countTurns(desk: Desk, query: string): Promise<number> {
  const { count } = await ask(desk, 'reading the inbox', () => desk.client.workflow.count(query));
  return count;
}

async function listUpTo(desk: Desk, query: string, most: number): Promise<ListedTurn[]> {
  return ask(desk, 'reading the inbox', async () => {
    const turns: ListedTurn[] = [];
    for await (const info of desk.lister.workflow.list({ query, pageSize: Math.min(most, 1000) })) {
      const [agent] = info.searchAttributes[SEARCH_ATTRIBUTES.agent] ?? [];
      turns.push({ id: info.workflowId, agent: String(agent ?? ''), memo: info.memo ?? {} });
      if (turns.length >= most) break;
    }
    return turns;
  });
}
