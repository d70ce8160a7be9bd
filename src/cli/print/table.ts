import type { Paint } from './visible';
import { cut, widthOf, wrap } from './width';

/** One cell: text that is safe to print, without colours, and how to colour it. */
export interface Cell {
  text: string;
  paint?: Paint;
}

/** A table; `flex` is the column that is cut when there is no room. */
export interface Table {
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
  flex: number;
}

const GAP = 2;
/** Below this the column that gives way says nothing any more, so each row becomes a block. */
const FLEX_LEAST = 16;

/** A table as aligned lines; on a narrow screen each row becomes a block of `name value` lines. */
export function tableLines(table: Table, screen: { width: number; quiet: Paint }): string[] {
  const widths = table.head.map((name, at) =>
    Math.max(widthOf(name), ...table.rows.map((row) => widthOf(row[at]?.text ?? ''))),
  );
  const fixed = widths.reduce((sum, width, at) => sum + (at === table.flex ? 0 : width + GAP), 0);
  const room = screen.width - fixed;
  const flexible = widths[table.flex] ?? 0;
  if (room < Math.min(FLEX_LEAST, flexible)) return blocks(table, screen);
  widths[table.flex] = Math.min(flexible, room);
  const head = table.head.map((text) => ({ text, paint: screen.quiet }));
  return [head, ...table.rows].map((row) => rowLine(row, widths));
}

function rowLine(row: readonly Cell[], widths: readonly number[]): string {
  const last = row.length - 1;
  const cells = row.map(({ text, paint = same }, at) => {
    const width = widths[at] ?? 0;
    const shown = cut(text, width);
    const padding = at === last ? '' : ' '.repeat(width - widthOf(shown) + GAP);
    return paint(shown) + padding;
  });
  return cells.join('').trimEnd();
}

function blocks({ head, rows }: Table, { width, quiet }: { width: number; quiet: Paint }): string[] {
  const names = head.map((name) => name.toLowerCase());
  const named = Math.max(...names.map(widthOf)) + GAP;
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...row.flatMap(({ text, paint = same }, column) =>
      wrap(text, width - named).map((part, line) => {
        const name = line === 0 ? (names[column] ?? '') : '';
        return `${quiet(name)}${' '.repeat(named - widthOf(name))}${paint(part)}`.trimEnd();
      }),
    ),
  ]);
}

const same: Paint = (text) => text;

/** `name  value` lines with aligned values, long values wrapped under themselves. */
export function factLines(
  facts: readonly (readonly [string, Cell])[],
  screen: { width: number; quiet: Paint },
): string[] {
  const named = Math.max(0, ...facts.map(([name]) => widthOf(name))) + GAP;
  return facts.flatMap(([name, { text, paint = same }]) =>
    wrap(text, screen.width - named).map((part, line) =>
      line === 0 ? screen.quiet(name.padEnd(named)) + paint(part) : ' '.repeat(named) + paint(part),
    ),
  );
}
