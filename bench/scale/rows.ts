/**
 * How a figure may grow. `flat`: it does not grow. `linear`: no faster than the number of turns. `rate`: so many a second;
 * what one of them takes does not grow, so all of them take no more than linearly longer.
 */
export type Held = 'flat' | 'linear' | 'rate' | { most: number };

/** One figure of a size. */
export interface Row {
  name: string;
  unit: string;
  held: Held;
}

/** What is measured at each size, in the order of the report. */
export const ROWS = {
  start: { name: 'turns started until they wait', unit: '/s', held: 'rate' },
  workers: { name: 'memory of both workers', unit: 'MB', held: 'linear' },
  server: { name: 'memory of the Temporal server', unit: 'MB', held: 'linear' },
  database: { name: 'database', unit: 'MB', held: 'linear' },
  firstLook: { name: 'first page of the inbox, first look', unit: 'ms', held: 'linear' },
  look: { name: 'the same, each later look, p50', unit: 'ms', held: 'linear' },
  byTool: { name: 'filtered by a tool that a tenth has, p50', unit: 'ms', held: 'linear' },
  byAgent: { name: 'filtered by its agent, p50', unit: 'ms', held: 'linear' },
  byAge: { name: 'filtered by age, p50', unit: 'ms', held: 'linear' },
  whole: { name: 'web inbox opened until it has all', unit: 's', held: 'linear' },
  calls: { name: 'its questions to visibility while people watch', unit: '/s', held: { most: 2 } },
  decide: { name: 'decision → effect, p50', unit: 'ms', held: 'flat' },
  decideLate: { name: 'the same, p95', unit: 'ms', held: 'linear' },
  burst: { name: 'decisions at once until the last effect', unit: '/s', held: 'rate' },
  kill: { name: 'both workers killed → a decision has its effect', unit: 's', held: 'linear' },
  expiry: { name: 'requests that expire at once, until all turns ended', unit: '/s', held: 'rate' },
  expiryCpu: { name: 'processor time of one that expires', unit: 'ms', held: 'flat' },
} as const satisfies Record<string, Row>;

export type RowId = keyof typeof ROWS;
/** What a row without a value is held to does not hold. */
export type Values = Readonly<Partial<Record<RowId, number>>>;

/** What takes time in a size. */
export const PHASES = [
  'cluster',
  'start',
  'size',
  'inbox',
  'watch',
  'decide',
  'burst',
  'kill',
  'expiry',
] as const;
export type Phase = (typeof PHASES)[number];

/** One size: measured, or worked out from the smaller ones. */
export interface Column {
  size: number;
  values: Values;
  /** What each phase took; absent where it was not run. */
  seconds?: Record<Phase, number>;
}

/** The cost of a row at a size: a rate is the other way round. */
export function costAt({ values }: Column, id: RowId): number {
  return costOf(ROWS[id].held, values[id] ?? NaN);
}

/** What one costs of what there are so many a second; and back. */
export function costOf(held: Held, value: number): number {
  return held === 'rate' ? 1 / value : value;
}

/** The rows with their names. */
export function eachRow<T>(map: (id: RowId, row: Row) => T): T[] {
  return ROW_IDS.map((id) => map(id, ROWS[id]));
}

const ROW_IDS = Object.keys(ROWS).filter((id): id is RowId => Object.hasOwn(ROWS, id));
