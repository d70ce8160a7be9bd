import { NEVER } from '../contract/names';

/** What is looked for: a time with about a page of turns before it. */
export interface BoundSearch {
  /** At least so many turns must have a deadline before the bound. */
  least: number;
  /** At most so many, unless they share one deadline. */
  most: number;
  /** Deadlines of some of the turns, in ms: any will do, but the more they are like all of them the fewer counts it takes. */
  sample: readonly number[];
  /** How many turns have a deadline before this time; each question costs. */
  count(at: number): Promise<number>;
}

/** A time, and how many turns have a deadline before it. */
interface Point {
  at: number;
  below: number;
}

/** What is known so far: the bound is after `low`, and `high` is one, but with too many before it. */
interface Known {
  low: Point | undefined;
  high: Point;
  /** What `high` was before; the two tell how dense deadlines are there. */
  above: Point | undefined;
}

/** Enough to come down to a millisecond from anywhere. */
const STEPS = 60;
/** Into the unknown the first step is an hour, and each next one much longer. */
const STRIDE_MS = 60 * 60_000;
const LONGER = 16;
const END = Date.parse(NEVER);

/**
 * A time before which at least `least` turns have their deadline, and not many more. Deadlines often stand close together
 * and far away: halving would look for them a dozen times, so a sample and the density lead.
 */
export async function findBound(search: BoundSearch): Promise<number> {
  const all = await search.count(END);
  // Of those that never expire none is the earliest.
  if (all < search.least) return END + 1;
  const pivots = pivotsOf(search, all);
  let known: Known = { low: undefined, high: { at: END, below: all }, above: undefined };
  for (let step = 0; step < STEPS && isWide(known, search.most); step++) {
    const pivot = pivots.find((at) => at > floorOf(known) && at < known.high.at);
    const at = between(known, pivot ?? nextGuess(known, step, aimOf(search)));
    known = learn(known, { at, below: await search.count(at) }, search.least);
  }
  return known.high.at;
}

/** What is aimed at leaves room to both sides. */
function aimOf({ least, most }: BoundSearch): number {
  return (least + most) / 2;
}

/**
 * Where the bound is if the sample is like all turns; its earliest, as it may be of the latest turns only; and its last, as
 * it may be of the earliest.
 */
function pivotsOf(search: BoundSearch, all: number): number[] {
  const sorted = search.sample.filter((at) => at < END).sort((a, b) => a - b);
  const [earliest, last] = [sorted[0], sorted.at(-1)];
  if (earliest === undefined || last === undefined) return [];
  const alike = sorted[Math.floor((sorted.length * aimOf(search)) / all)] ?? last;
  return [alike + 1, earliest, last + 1];
}

/** Nothing has a deadline before the epoch. */
function floorOf({ low }: Known): number {
  return low?.at ?? 0;
}

function isWide(known: Known, most: number): boolean {
  return known.high.below > most && known.high.at - floorOf(known) > 1;
}

function between(known: Known, at: number): number {
  return Math.floor(Math.max(floorOf(known) + 1, Math.min(known.high.at - 1, at)));
}

function learn({ low, high, above }: Known, point: Point, least: number): Known {
  if (point.below < least) return { low: point, high, above };
  // On the way to those that never expire nothing is dense.
  return { low, high: point, above: high.at === END ? undefined : high };
}

/** Where the density leads and the middle take turns, so that no distribution takes much more than halving would. */
function nextGuess(known: Known, step: number, aim: number): number {
  const { low, high } = known;
  const now = Date.now();
  if (high.at === END) return now + Math.max(STRIDE_MS, (floorOf(known) - now) * LONGER);
  const dense = byDensity(known, aim);
  const isLikely = dense > (low?.at ?? Math.min(now, high.at - 1));
  if (step % 2 === 0 && isLikely) return dense;
  if (low !== undefined) return (low.at + high.at) / 2;
  // Few are overdue, so most often there is nothing before now.
  return high.at > now ? now : high.at - Math.max(STRIDE_MS, (now - high.at) * LONGER);
}

/** The time that the last two counts point to; NaN where they tell nothing. */
function byDensity({ high, above }: Known, aim: number): number {
  if (above === undefined || above.below === high.below) return NaN;
  return high.at - ((high.below - aim) * (above.at - high.at)) / (above.below - high.below);
}
