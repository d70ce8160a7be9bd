import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DOCS, writePart } from '../page';
import { grouped, processor, short } from '../print';
import { row } from '../report';
import { chart } from './chart';
import { isMeasured, judge } from './growth';
import { eachRow, type Column, type RowId } from './rows';

const PAGE = join(DOCS, 'scale.md');
const CHART = join(DOCS, 'scale.svg');
/** Where the result goes: of workers as users have them, and of workers that keep so many turns as `--cached` says. */
const MARKS = {
  usual: { start: '<!-- sizes -->', end: '<!-- end of sizes -->' },
  cached: { start: '<!-- sizes in little memory -->', end: '<!-- end of sizes in little memory -->' },
} as const;

/** What is known of a run beside its figures. */
export interface RunFacts {
  /** ISO 8601, the day alone. */
  day: string;
  /** What others did on the machine before: the load of the last minute. */
  load: number;
  /** So many turns stayed in the memory of each worker. Absent: as many as the SDK works out for the machine. */
  cached?: number | undefined;
}

/** Puts the sizes, the machine and the day into their page, and draws the chart of workers as users have them. */
export function writeScale(columns: readonly Column[], facts: RunFacts): void {
  const isUsual = facts.cached === undefined;
  writePart(PAGE, isUsual ? MARKS.usual : MARKS.cached, [headOf(facts), '', ...table(columns)]);
  if (!isUsual) return;
  mkdirSync(dirname(CHART), { recursive: true });
  writeFileSync(CHART, chart(columns));
}

/** When, where and beside what it was measured. */
export function headOf({ day, load, cached }: RunFacts): string {
  const memory = cached === undefined ? '' : ` Each worker kept ${grouped(cached)} turns in memory.`;
  const busy = `The load of the machine was ${load.toFixed(1)} before the bench began`;
  return `Measured on ${day}: ${processor()}. PostgreSQL and the Temporal server with four history shards, two workers, all on these cores.${memory} ${busy}.`;
}

/** A row a figure, a column a size. What was not run says so. */
export function table(columns: readonly Column[]): string[] {
  const sizes = columns.map((column) => grouped(column.size) + (isMeasured(column) ? '' : ', extrapolated'));
  return [
    row(['waiting turns', ...sizes, 'growth', 'to hold', 'holds']),
    row(Array.from({ length: columns.length + 4 }, () => '---')),
    ...eachRow((id, { name, unit }) => {
      const { growth, limit, ok } = judge(id, columns.filter(isMeasured));
      const cells = columns.map((column) => cellOf(column, id, unit));
      return row([name, ...cells, growth === null ? '-' : `${short(growth)}×`, limit, held(ok)]);
    }),
  ];
}

function cellOf(column: Column, id: RowId, unit: string): string {
  const text = `${short(column.values[id] ?? NaN)} ${unit}`;
  return isMeasured(column) ? text : `(${text})`;
}

function held(ok: boolean | null): string {
  if (ok === null) return '-';
  return ok ? 'yes' : '**no**';
}
