import { cpus } from 'node:os';
import sdk from '@temporalio/client/package.json';
import { CLI_VERSION } from '../lib/engine/install-binary';
import { NO_LIMIT, type Figure } from './figure';

const WIDTHS = [50, 10, 10, 8, 18, 4] as const;

/** What the figures were measured on, with the durability of the server's store. */
export function printHead(json: boolean): void {
  if (json) return;
  for (const line of machine()) console.log(line);
  console.log(row(['figure', 'value', 'baseline', 'ratio', 'to hold', '']));
}

/** Machine, versions, and the durability of the server's store. */
export function machine(): string[] {
  return [
    processor(),
    `Temporal dev server (CLI ${CLI_VERSION}), SQLite file, WAL, synchronous=FULL: what it acknowledged survives a power cut`,
  ];
}

/** Cores and versions. */
export function processor(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, Node ${process.versions.node}, SDK ${sdk.version}`;
}

/** One figure, as a row or as a line of JSON. */
export function printFigure(figure: Figure, json: boolean): void {
  if (json) console.log(JSON.stringify(figure));
  else console.log(row(cells(figure)));
}

function cells({ figure, value, baseline, ratio, limit, ok, unit }: Figure): string[] {
  const held = limit === NO_LIMIT ? '' : 'ok';
  return [figure, `${short(value)} ${unit}`, short(baseline), short(ratio), limit, ok ? held : 'NO'];
}

/** Three digits are what these figures carry, but for counts. */
export function short(value: number | null): string {
  if (value === null) return '-';
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

/** A number with its thousands apart. */
export function grouped(size: number): string {
  return size.toLocaleString('en-US');
}

function row(texts: readonly string[]): string {
  return texts
    .map((text, index) => text.padEnd(WIDTHS[index] ?? 0))
    .join(' ')
    .trimEnd();
}
