import { NEVER, SEARCH_ATTRIBUTES } from '../../contract/names';
import { ask } from '../../history/server-errors';
import type { ClientContext } from '../context';
import { listPages, SMALL_PAGE } from '../list';
import type { InboxItem } from '../types';
import { type ListedTurn, listedTurn } from './waiting';

/** Calls in doubt first, then the earliest deadline. Items that never expire come last, oldest first. */
export function mostUrgentFirst(items: readonly InboxItem[]): InboxItem[] {
  return inDoubtFirst(items, (some) => {
    const keyed = some.map((item) => ({
      item,
      key: `${item.deadline ?? NEVER} ${item.since} ${item.turn} ${item.callId}`,
    }));
    return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
  });
}

/** Calls in doubt first, then the newest. */
export function newestFirst(items: readonly InboxItem[]): InboxItem[] {
  return inDoubtFirst(items, (some) =>
    [...some].sort((a, b) => (a.since === b.since ? 0 : a.since > b.since ? -1 : 1)),
  );
}

/** Whatever the order: calls in doubt come before all others, because something may have happened already. */
function inDoubtFirst(
  items: readonly InboxItem[],
  ordered: (some: readonly InboxItem[]) => InboxItem[],
): InboxItem[] {
  const others = items.filter((item) => !isInDoubt(item));
  return [...ordered(items.filter(isInDoubt)), ...ordered(others)];
}

/** Whether an item is a call in doubt. */
export function isInDoubt({ kind }: InboxItem): boolean {
  return kind === 'in_doubt';
}

/**
 * A bound is lowered until at most this many pages are before it, because sorting more turns in memory costs more than
 * another query.
 */
const PAGES = 3;

/**
 * The turns with the earliest deadlines that match a query, in no order: at least `limit` of them if there are so
 * many. Visibility cannot sort, so a time is looked for before which about one page of turns has its deadline. Calls
 * with the same `kind` try the last such time first.
 */
export async function earliestTurns(
  context: ClientContext,
  query: string,
  limit: number,
  kind = query,
): Promise<ListedTurn[]> {
  const range = { least: limit, most: limit * PAGES };
  const last = lastBounds.get(context);
  const known =
    last?.kind === kind ? await listAtBound(context, query, { ...range, at: last.bound }) : undefined;
  if (known !== undefined) return known;
  const some = await listUpTo(context, query, limit + 1);
  if (some.length <= limit) return some;
  const sample = some.flatMap(({ deadline }) => deadline ?? []);
  const count = (at: number) => countTurns(context, `${query} AND ${before(at)}`);
  const bound = await findBound({ ...range, sample, count });
  const turns = await listUpTo(context, `${query} AND ${before(bound)}`, range.most);
  lastBounds.set(context, { kind, bound: Math.min(bound, boundOf(turns, range)) });
  return turns;
}

/**
 * A bound for these turns. With the usual limit, one answer of visibility can hold the turns with a deadline before the
 * bound.
 */
function boundOf(turns: readonly ListedTurn[], range: { least: number; most: number }) {
  const sorted = turns.flatMap(({ deadline }) => deadline ?? []).sort((a, b) => a - b);
  return (sorted[Math.ceil(aimOf(range)) - 1] ?? END) + 1;
}

/**
 * The last bound of each client. A second look mostly finds the same turns, so the bound holds until about a page of
 * them is decided.
 */
const lastBounds = new WeakMap<ClientContext, { kind: string; bound: number }>();

/** The turns before a bound. Undefined if there are now too few or too many of them. */
async function listAtBound(
  context: ClientContext,
  query: string,
  { least, most, at }: Pick<BoundSearch, 'least' | 'most'> & { at: number },
) {
  // Listing one turn more than wanted shows as much as a count would, and saves a query.
  const turns = await listUpTo(context, `${query} AND ${before(at)}`, most + 1);
  return turns.length >= least && turns.length <= most ? turns : undefined;
}

function before(at: number) {
  return `${SEARCH_ATTRIBUTES.deadline} < '${new Date(at).toISOString()}'`;
}

/** The number of turns that match a query. */
export async function countTurns(context: ClientContext, query: string): Promise<number> {
  const { count } = await ask(context, 'reading the inbox', () => context.lister.workflow.count(query));
  return count;
}

/** The turns that match a query, in no order, at most `most` of them. */
export async function listUpTo(context: ClientContext, query: string, most: number): Promise<ListedTurn[]> {
  return ask(context, 'reading the inbox', async () => {
    const turns: ListedTurn[] = [];
    for await (const page of listPages(context.lister, query, Math.min(most, SMALL_PAGE))) {
      turns.push(...page.map(listedTurn));
      if (turns.length >= most) break;
    }
    return turns.slice(0, most);
  });
}

/** The bound to find: a time with about a page of turns before it. */
interface BoundSearch {
  /** The least number of turns that must have a deadline before the bound. */
  least: number;
  /** The most turns that may have a deadline before the bound. More are allowed if they share one deadline. */
  most: number;
  /**
   * Deadlines of some of the turns, in ms. Any deadlines will do. A sample that resembles all turns takes the fewest
   * counts.
   */
  sample: readonly number[];
  /** The number of turns with a deadline before this time. Each count costs a query. */
  count(at: number): Promise<number>;
}

/** A time, and the number of turns with a deadline before it. */
interface Point {
  at: number;
  below: number;
}

/**
 * The state of the search. The bound is after `low`. `high` is late enough, but too many turns have a deadline before
 * it.
 */
interface Known {
  low: Point | undefined;
  high: Point;
  /** The previous `high`. Together with `high` it shows how dense deadlines are there. */
  above: Point | undefined;
}

/** The most steps of a search: enough to come down to a millisecond from anywhere. */
const STEPS = 60;
/** If nothing is known yet, the first step is an hour, and each further step is this many times longer. */
const STRIDE_MS = 60 * 60_000;
const LONGER = 16;
const END = Date.parse(NEVER);

/**
 * A time before which at least `least` turns have their deadline, and not many more. Deadlines are often close together
 * and far in the future. Halving alone would take a dozen queries to find them, so a sample and the density of
 * deadlines lead the search.
 */
export async function findBound(search: BoundSearch): Promise<number> {
  const all = await search.count(END);
  // There are too few turns with a deadline, so turns that never expire have to be among them.
  if (all < search.least) return END + 1;
  const pivots = pivotsOf(search, all);
  let known: Known = { low: undefined, high: { at: END, below: all }, above: undefined };
  for (
    let step = 0;
    step < STEPS && known.high.below > search.most && known.high.at - floorOf(known) > 1;
    step++
  ) {
    const pivot = pivots.find((at) => at > floorOf(known) && at < known.high.at);
    const at = between(known, pivot ?? nextGuess(known, step, aimOf(search)));
    known = learn(known, { at, below: await search.count(at) }, search.least);
  }
  return known.high.at;
}

/**
 * The number of turns that should be before the bound. It leaves room on both sides. With the usual limit, so many
 * turns come in one answer of visibility.
 */
function aimOf({ least, most }: Pick<BoundSearch, 'least' | 'most'>) {
  return (3 * least + most) / 4;
}

/**
 * The times to try first. The first time is right if the sample resembles all turns. The second is the sample's
 * earliest time, in case the sample has only the latest turns. The third is the sample's last time, in case the sample
 * has only the earliest turns.
 */
function pivotsOf(search: BoundSearch, all: number) {
  const sorted = search.sample.filter((at) => at < END).sort((a, b) => a - b);
  const [earliest, last] = [sorted[0], sorted.at(-1)];
  if (earliest === undefined || last === undefined) return [];
  const alike = sorted[Math.floor((sorted.length * aimOf(search)) / all)] ?? last;
  return [alike + 1, earliest, last + 1];
}

/** The time that the bound is after. Nothing has a deadline before the epoch. */
function floorOf({ low }: Known) {
  return low?.at ?? 0;
}

function between(known: Known, at: number) {
  return Math.floor(Math.max(floorOf(known) + 1, Math.min(known.high.at - 1, at)));
}

function learn({ low, high, above }: Known, point: Point, least: number): Known {
  if (point.below < least) return { low: point, high, above };
  // Between here and the turns that never expire there is no density to measure.
  return { low, high: point, above: high.at === END ? undefined : high };
}

/**
 * The next time to try. Density and halving take turns, so that the search never takes much longer than halving alone.
 */
function nextGuess(known: Known, step: number, aim: number) {
  const { low, high } = known;
  const now = Date.now();
  if (high.at === END) return now + Math.max(STRIDE_MS, (floorOf(known) - now) * LONGER);
  const dense = byDensity(known, aim);
  const isLikely = dense > (low?.at ?? Math.min(now, high.at - 1));
  if (step % 2 === 0 && isLikely) return dense;
  if (low !== undefined) return (low.at + high.at) / 2;
  // Few deadlines are in the past, so the bound is mostly after now.
  return high.at > now ? now : high.at - Math.max(STRIDE_MS, (now - high.at) * LONGER);
}

/** The time that the density between the last two counts suggests. NaN if the counts show no density. */
function byDensity({ high, above }: Known, aim: number) {
  if (above === undefined || above.below === high.below) return NaN;
  return high.at - ((high.below - aim) * (above.at - high.at)) / (above.below - high.below);
}
