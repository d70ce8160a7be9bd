import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chart, type Bar } from './chart';
import { NO_LIMIT, type Figure } from './figure';
import { DOCS, readPart, writePart } from './page';
import { machine, short } from './print';
import { ROWS } from './rows';

const PAGE = join(DOCS, 'performance.md');
const CHART = join(DOCS, 'performance.svg');
const MARKS = { start: '<!-- figures -->', end: '<!-- end of figures -->' } as const;
const HEAD = ['figure', 'value', 'baseline', 'ratio', 'to hold', 'holds', 'measured'] as const;
const ORDER: readonly string[] = Object.values(ROWS).flat();

/** When and on what figures were measured. */
interface Run {
  /** ISO 8601, the day alone. */
  day: string;
  machine: string;
}

/**
 * Puts figures into the page of figures, and draws its chart again. Rows of other names stay as they are, with the day
 * on which they were measured, and so do the words around the table.
 */
export function writeReport(figures: readonly Figure<string>[], day: string): void {
  const lines = merged(readPart(PAGE, MARKS), figures, { day, machine: machine().join('. ') });
  writePart(PAGE, MARKS, lines);
  mkdirSync(dirname(CHART), { recursive: true });
  writeFileSync(CHART, chart(rowsIn(lines).map(barOf)));
}

/**
 * The lines of the page with these figures in them. A day stays with its machine as long as a row is of that day, and days
 * of one machine stand together.
 */
export function merged(
  before: readonly string[],
  figures: readonly Figure<string>[],
  { day, machine: place }: Run,
): string[] {
  const rows = new Map(rowsIn(before).map((cells) => [cells[0], cells]));
  for (const figure of figures) rows.set(figure.figure, [...cellsOf(figure), day]);
  const sorted = [...rows.values()].sort((a, b) => placeOf(a) - placeOf(b));
  const days = new Set(sorted.map((cells) => cells.at(-1)));
  const machines = new Map<string, string[]>();
  for (const line of [...before, `- ${day}: ${place}.`]) {
    const [, on = '', at] = /^- ([\d, -]+): (.*)$/.exec(line) ?? [];
    if (at !== undefined) machines.set(at, [...(machines.get(at) ?? []), ...on.split(', ')]);
  }
  const kept = [...machines].flatMap(([at, all]) => {
    const on = [...new Set(all)].filter((one) => days.has(one)).sort();
    return on.length === 0 ? [] : [`- ${on.join(', ')}: ${at}`];
  });
  return ['Measured on', '', ...kept.sort(), '', ...tableOf(HEAD, sorted)];
}

/** The cells of each row of a table. */
export function rowsIn(lines: readonly string[]): string[][] {
  const rows = lines.filter((line) => line.startsWith('|')).map((line) => line.split('|').slice(1, -1));
  return rows.slice(2).map((cells) => cells.map((cell) => cell.trim()));
}

/** Rows that no measurement gives are the last. */
function placeOf([name = '']: readonly string[]): number {
  const place = ORDER.indexOf(name);
  return place === -1 ? ORDER.length : place;
}

/** Figures as a table of Markdown. */
export function table(figures: readonly Figure<string>[]): string[] {
  return tableOf(HEAD.slice(0, -1), figures.map(cellsOf));
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [row(head), row(head.map(() => '---')), ...rows.map(row)];
}

function cellsOf({ figure, value, baseline, ratio, limit, ok, unit }: Figure<string>): string[] {
  const shown = `${short(value)} ${unit}`.trim();
  return [figure, shown, short(baseline), short(ratio), limit.trim(), holds(limit, ok)];
}

function holds(limit: string, ok: boolean): string {
  if (!ok) return '**no**';
  return limit === NO_LIMIT ? NO_LIMIT : 'yes';
}

/** A row of the page as the chart shows it. */
export function barOf(cells: readonly string[]): Bar {
  const [figure = '', value = '', , ratio = '', limit = '', held] = cells;
  const [, sign, bound, times] = /^([≤≥]) (\S+?)(×?)(?: |$)/.exec(limit) ?? [];
  const number = parseFloat(times === '×' ? ratio : value);
  const used = sign === '≥' ? Number(bound) / number : number / Number(bound);
  return { figure, limit, ok: held !== '**no**', share: Math.max(0, used) };
}

/** A row of a table of Markdown. */
export function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
