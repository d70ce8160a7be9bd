import type { Paint } from '../../contract/text/escape';
import { cut, widthOf, wrap } from '../../contract/text/columns';
import type { Countersign } from '../../client';
import type { TurnView } from '../../history/view';
import { describeState, type Label } from '../../history/labels';
import { toneOf, type ScreenFormat, type Style } from './screen';

/** One cell: text that is safe to print, without colours, and how to colour it. */
export interface Cell {
  text: string;
  paint?: Paint;
}

/**
 * A table. `flex`: the column that is cut when there is not enough room. `drop`: the columns that are left out before
 * the cut, in this order.
 */
export interface Table {
  head: readonly string[];
  rows: readonly (readonly (Cell | string)[])[];
  flex: number;
  drop?: readonly number[];
}

/** A name and its value. A fact without a value is left out. */
export type TableFact = readonly [name: string, value: Cell | string | undefined];

const GAP = 2;
/** On a screen with fewer columns ids are shortened. */
const IDS_WHOLE = 110;

/** The form of ids on a screen: in full if there is room, otherwise as a prefix that every command accepts. */
export async function idsOn(
  { width }: ScreenFormat,
  client: Countersign,
  turns: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return width < IDS_WHOLE ? client.shortIds(turns) : new Map<string, string>();
}

/** Below this width the flexible column says too little, so each row becomes a block. */
const FLEX_LEAST = 16;
/** Below this width the flexible column is too short, so another column is left out. */
const FLEX_WANTED = 40;

/** A table as aligned lines; on a narrow screen each row becomes a block of `name value` lines. */
export function tableLines(table: Table, screen: ScreenFormat): string[] {
  const { head, flex, drop: [first, ...others] = [] } = table;
  const rows = table.rows.map((row) => row.map(cellOf));
  const widths = head.map((name, at) =>
    Math.max(widthOf(name), ...rows.map((row) => widthOf(row[at]?.text ?? ''))),
  );
  const fixed = widths.reduce((sum, width, at) => sum + (at === flex ? 0 : width + GAP), 0);
  const room = screen.width - fixed;
  const flexible = widths[flex] ?? 0;
  if (first !== undefined && room < Math.min(FLEX_WANTED, flexible))
    return tableLines(without(table, first, others), screen);
  if (room < Math.min(FLEX_LEAST, flexible)) return blocks(head, rows, screen);
  widths[flex] = Math.min(flexible, room);
  const names = head.map((text) => ({ text, paint: screen.style.quiet }));
  return [names, ...rows].map((row) => rowLine(row, widths));
}

function without({ head, rows, flex }: Table, column: number, drop: readonly number[]): Table {
  const moved = (at: number) => (at > column ? at - 1 : at);
  const left = <T>(cells: readonly T[]) => cells.filter((_, at) => at !== column);
  return { head: left(head), rows: rows.map(left), flex: moved(flex), drop: drop.map(moved) };
}

function cellOf(cell: Cell | string) {
  return typeof cell === 'string' ? { text: cell } : cell;
}

function rowLine(row: readonly Cell[], widths: readonly number[]) {
  const last = row.length - 1;
  const cells = row.map(({ text, paint = same }, at) => {
    const width = widths[at] ?? 0;
    const shown = cut(text, width);
    const padding = at === last ? '' : ' '.repeat(width - widthOf(shown) + GAP);
    return paint(shown) + padding;
  });
  return cells.join('').trimEnd();
}

function blocks(head: readonly string[], rows: readonly (readonly Cell[])[], screen: ScreenFormat): string[] {
  const names = head.map((name) => name.toLowerCase());
  const named = Math.max(...names.map(widthOf)) + GAP;
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...row.flatMap((cell, column) => factOf(names[column] ?? '', cell, named, screen)),
  ]);
}

function factOf(name: string, { text, paint = same }: Cell, named: number, screen: ScreenFormat) {
  return wrap(text, screen.width - named).map((part, line) => {
    const head =
      line === 0 ? screen.style.quiet(name) + ' '.repeat(named - widthOf(name)) : ' '.repeat(named);
    return head + paint(part);
  });
}

const same: Paint = (text) => text;

/** `name  value` lines with aligned values, long values wrapped under themselves. */
export function factLines(facts: readonly TableFact[], screen: ScreenFormat): string[] {
  const known = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, cell: cellOf(value) }],
  );
  const named = Math.max(0, ...known.map(({ name }) => widthOf(name))) + GAP;
  return known.flatMap(({ name, cell }) => factOf(name, cell, named, screen));
}

/** Lines below a name. Empty if there are no lines. */
export function section(name: string, lines: readonly string[], { style }: ScreenFormat): string[] {
  return lines.length === 0 ? [] : [style.quiet(`${name}:`), ...indented(lines)];
}

/** The same lines, indented by two columns. */
export function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`.trimEnd());
}

/** A screen for lines that are indented afterwards. */
export function inner(screen: ScreenFormat): ScreenFormat {
  return { ...screen, width: screen.width - 2 };
}

/** The state of a turn in words, in a colour that shows whether a person has to act. */
export function stateCell(state: TurnView['status'], style: Style): Cell {
  return labelCell(describeState(state), style);
}

/** A label in the colour of its tone. */
export function labelCell([text, tone]: Label, style: Style): Cell {
  return { text, paint: toneOf(tone, style) };
}
