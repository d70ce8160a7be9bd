import { costAt, costOf, eachRow, PHASES, type Column, type Phase, type Row, ROWS, type RowId } from './rows';

/** What may be more than the rule allows: machines are never the same twice. */
export const TOLERANCE = 1.5;

/** Decisions that are sent at once. */
export const BURST = 1000;
/** Requests that expire at once. */
export const EXPIRING = 10_000;

/** A column that was run. */
export type Measured = Column & { seconds: Record<Phase, number> };

export function isMeasured(column: Column): column is Measured {
  return column.seconds !== undefined;
}

/** How many turns a phase works on, relative to other sizes. */
const AMOUNTS: Record<Phase, (size: number) => number> = {
  cluster: () => 1,
  start: (size) => size,
  size: () => 1,
  inbox: () => 1,
  watch: (size) => size,
  decide: () => 1,
  kill: () => 1,
  burst: (size) => Math.min(size, BURST),
  expiry: (size) => Math.min(size, EXPIRING),
};

/** Seconds that a larger size takes at the rates of one that was run. */
export function predictSeconds({ size: known, seconds }: Measured, size: number): number {
  return PHASES.reduce((sum, phase) => {
    const { [phase]: amount } = AMOUNTS;
    return sum + seconds[phase] * (amount(size) / amount(known));
  }, 0);
}

/** Works out a size from those that were run: on the line through the two largest, and never cheaper than the largest. */
export function extrapolate(measured: readonly Measured[], size: number): Column {
  const [large, small] = [measured.at(-1), measured.at(-2)];
  if (large === undefined) throw new Error('nothing was measured that a size could be worked out from');
  const entries = eachRow((id, { held }): [RowId, number] => {
    const last = costAt(large, id);
    const more = (size - large.size) * slopeOf(id, large, small);
    return [id, costOf(held, last + Math.max(0, more))];
  });
  return { size, values: Object.fromEntries(entries) };
}

/** What one more turn costs. With one size all that is known is what the row is held to. */
function slopeOf(id: RowId, large: Column, small: Column | undefined): number {
  if (small === undefined) return ROWS[id].held === 'linear' ? costAt(large, id) / large.size : 0;
  return (costAt(large, id) - costAt(small, id)) / (large.size - small.size);
}

/** Whether a row keeps to what it is held to. */
export interface Verdict {
  /** What it costs at the largest size that was run, over the smallest; null with one size. */
  growth: number | null;
  limit: string;
  /** Null where one size cannot tell. */
  ok: boolean | null;
}

/** Judges a row by the sizes that were run. */
export function judge(id: RowId, measured: readonly Measured[]): Verdict {
  const { held }: Row = ROWS[id];
  const points = measured.map((column) => ({ size: column.size, cost: costAt(column, id) }));
  const [first, last] = [points[0], points.at(-1)];
  const growth = points.length < 2 ? null : (last?.cost ?? NaN) / (first?.cost ?? NaN);
  const limit = limitOf(id);
  if (typeof held === 'object') return { growth, limit, ok: points.every(({ cost }) => cost <= held.most) };
  if (growth === null) return { growth, limit, ok: null };
  if (held === 'flat') return { growth, limit, ok: growth <= TOLERANCE };
  // Each beside the one before it: what sets in late is lost in what a small size costs anyway.
  const ok = points.slice(1).every(({ size, cost }, index) => {
    const before = points[index] ?? { size: NaN, cost: NaN };
    return cost / before.cost <= TOLERANCE * (held === 'linear' ? size / before.size : 1);
  });
  return { growth, limit, ok };
}

function limitOf(id: RowId): string {
  const { held, unit }: Row = ROWS[id];
  if (typeof held === 'object') return `≤ ${held.most} ${unit}`;
  if (held === 'linear') return 'linear';
  return held === 'flat' ? `≤ ${TOLERANCE}×` : `one ≤ ${TOLERANCE}×`;
}

/** Whether every row holds, as far as the sizes can tell. */
export function allHold(measured: readonly Measured[]): boolean {
  return eachRow((id) => judge(id, measured)).every(({ ok }) => ok !== false);
}
