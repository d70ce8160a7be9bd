/** Maps moments to places between 0 and 1. */
export interface Scale {
  place(ms: number): number;
  /** A few moments to name on the axis, at most six, well apart: the first and the last are among them. */
  ticks(): { at: number; iso: string }[];
}

/** A gap this long still takes room of its own. Milliseconds. */
const UNIT_MS = 50;
/** Ticks nearer to each other than this would run into one another on a phone; the last one stands left of its place. */
const APART = 0.2;
const LAST_APART = 0.32;

/**
 * A scale that keeps order, not proportion: a gap takes the logarithm of its length. A turn that ran for a second and
 * waited for two days shows both. Where nothing was long it is close to even.
 */
export function createScale(moments: readonly number[]): Scale {
  const stops = [...new Set(moments.filter(Number.isFinite))].sort((a, b) => a - b);
  const places = [0];
  for (const [index, stop] of stops.entries()) {
    const before = stops[index - 1];
    if (before !== undefined) places.push((places.at(-1) ?? 0) + Math.log2(1 + (stop - before) / UNIT_MS));
  }
  const whole = places.at(-1) || 1;
  const at = (index: number): number => (places[index] ?? 0) / whole;
  return {
    place: (ms) => between(stops, at, ms),
    ticks: () => apart(stops.map((stop, index) => ({ at: at(index), iso: new Date(stop).toISOString() }))),
  };
}

function between(stops: readonly number[], at: (index: number) => number, ms: number): number {
  const next = firstFrom(stops, ms);
  const after = stops[next];
  if (after === undefined) return stops.length === 0 ? 0 : 1;
  const before = stops[next - 1];
  if (before === undefined || after === ms) return at(next);
  return at(next - 1) + ((ms - before) / (after - before)) * (at(next) - at(next - 1));
}

/** The place of the first stop that is not before a moment. A long turn has thousands, and each bar asks twice. */
function firstFrom(stops: readonly number[], ms: number): number {
  let [low, high] = [0, stops.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stops[middle] ?? 0) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

function apart(ticks: { at: number; iso: string }[]): { at: number; iso: string }[] {
  const last = ticks.at(-1);
  const kept: typeof ticks = [];
  for (const tick of ticks.slice(0, -1)) {
    if (tick.at > 1 - LAST_APART && kept.length > 0) break;
    if (tick.at - (kept.at(-1)?.at ?? -1) >= APART) kept.push(tick);
  }
  return last === undefined ? kept : [...kept, last];
}
