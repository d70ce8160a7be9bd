import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chart } from './chart';
import { NO_LIMIT, type Figure } from './figure';
import { DOCS, writePart } from './page';
import { machine, short } from './print';

const PAGE = join(DOCS, 'performance.md');
const CHART = join(DOCS, 'images', 'performance.svg');
const MARKS = { start: '<!-- figures -->', end: '<!-- end of figures -->' } as const;

/** Puts figures, machine and day into the page of figures, and draws its chart; the words around them stay. */
export function writeReport(figures: readonly Figure[], day: string): void {
  writePart(PAGE, MARKS, [`Measured on ${day}: ${machine().join('. ')}.`, '', ...table(figures)]);
  mkdirSync(dirname(CHART), { recursive: true });
  writeFileSync(CHART, chart(figures));
}

/** The figures as a table of Markdown. */
export function table(figures: readonly Figure[]): string[] {
  const rows = figures.map(({ figure, value, unit, baseline, ratio, limit, ok }) =>
    row([figure, `${short(value)} ${unit}`, short(baseline), short(ratio), limit, holds(limit, ok)]),
  );
  return [
    row(['figure', 'value', 'baseline', 'ratio', 'to hold', 'holds']),
    row(['---', '---', '---', '---', '---', '---']),
    ...rows,
  ];
}

function holds(limit: string, ok: boolean): string {
  if (!ok) return '**no**';
  return limit === NO_LIMIT ? NO_LIMIT : 'yes';
}

/** A row of a table of Markdown. */
export function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
