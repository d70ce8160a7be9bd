import type { WorkflowExecutionInfo } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../contract/names';
import { findBound, type BoundSearch } from './deadline-bound';
import { ask, type Desk } from './desk';

/** One turn as visibility lists it. */
export interface ListedTurn {
  id: string;
  agent: string;
  memo: Record<string, unknown>;
  /** In ms; undefined where it has none. */
  deadline: number | undefined;
}

/** A bound is lowered until at most this many pages are before it: sorting more in memory costs more than asking again. */
const PAGES = 3;

/**
 * The turns with the earliest deadlines that match a query, at least `limit` of them where there are so many, in no
 * order. Visibility cannot sort, so a bound is looked for under which there is about one page.
 */
export async function earliestTurns(desk: Desk, query: string, limit: number): Promise<ListedTurn[]> {
  const range = { least: limit, most: limit * PAGES };
  const known = await listAtLastBound(desk, query, range);
  if (known !== undefined) return known;
  const some = await listUpTo(desk, query, limit + 1);
  if (some.length <= limit) return some;
  const sample = some.flatMap(({ deadline }) => deadline ?? []);
  const count = (at: number): Promise<number> => countTurns(desk, `${query} AND ${before(at)}`);
  const bound = await findBound({ ...range, sample, count });
  lastBounds.set(desk, { query, bound });
  return listUpTo(desk, `${query} AND ${before(bound)}`, range.most);
}

/** Who looks again mostly finds what the last look found: the same bound holds until a page of it is decided. */
const lastBounds = new WeakMap<Desk, { query: string; bound: number }>();

/** Undefined where there was no last look, or where too few or too many are before its bound by now. */
async function listAtLastBound(
  desk: Desk,
  query: string,
  { least, most }: Pick<BoundSearch, 'least' | 'most'>,
): Promise<ListedTurn[] | undefined> {
  const last = lastBounds.get(desk);
  if (last?.query !== query) return undefined;
  // Asking for one too many tells as much as a count, and is one question less.
  const turns = await listUpTo(desk, `${query} AND ${before(last.bound)}`, most + 1);
  return turns.length >= least && turns.length <= most ? turns : undefined;
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
      turns.push(listedTurn(info));
      if (turns.length >= most) break;
    }
    return turns;
  });
}

function listedTurn({ workflowId, searchAttributes, memo = {} }: WorkflowExecutionInfo): ListedTurn {
  const [agent] = searchAttributes[SEARCH_ATTRIBUTES.agent] ?? [];
  const [deadline] = searchAttributes[SEARCH_ATTRIBUTES.deadline] ?? [];
  const at = deadline instanceof Date ? deadline.getTime() : undefined;
  return { id: workflowId, agent: String(agent ?? ''), memo, deadline: at };
}
