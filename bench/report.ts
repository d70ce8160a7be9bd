import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chart } from './chart';
import { NO_LIMIT, type Figure } from './figure';
import { machine, short } from './print';

const docs = join(__dirname, '..', 'docs');
const PAGE = join(docs, 'performance.md');
const CHART = join(docs, 'images', 'performance.svg');
const MARKS = { start: '<!-- figures -->', end: '<!-- end of figures -->' } as const;

/** Puts figures, machine and day into the page of figures, and draws its chart; the words around them stay. */
export function writeReport(figures: readonly Figure[], day: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(MARKS.start);
  const [, after = ''] = rest.split(MARKS.end);
  const body = [`Measured on ${day}: ${machine().join('. ')}.`, '', ...table(figures)].join('\n');
  writeFileSync(PAGE, `${before}${MARKS.start}\n\n${body}\n\n${MARKS.end}${after}`);
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

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
