import type { Paint } from './visible';
import { widthOf, wrap } from './width';

/** One line of a column: text that is safe to print, and how to colour it. */
export interface ColumnLine {
  text: string;
  /** Columns before it, kept where it wraps. @default 0 */
  indent?: number;
  paint?: Paint;
}

const GAP = 3;
/** Below this two columns say less than one. */
const BOTH_FROM = 80;
/** Where nobody looks there is no width to fill. */
const MOST = 160;

/** Two texts side by side; on a narrow screen nothing, because they are better told one after the other. */
export function besides(
  left: readonly ColumnLine[],
  right: readonly ColumnLine[],
  width: number,
): string[] | undefined {
  if (width < BOTH_FROM) return undefined;
  const each = Math.floor((Math.min(width, MOST) - GAP) / 2);
  const [first, second] = [left, right].map((lines) => lines.flatMap((line) => fitLine(line, each)));
  const rows = Math.max(first?.length ?? 0, second?.length ?? 0);
  return Array.from({ length: rows }, (_, row) => {
    const [one, two] = [first?.[row] ?? '', second?.[row] ?? ''];
    return `${one}${' '.repeat(Math.max(0, each - widthOf(one)))} │ ${two}`.trimEnd();
  });
}

/** A line of a column, wrapped to its width. */
export function fitLine({ text, indent = 0, paint = (one) => one }: ColumnLine, width: number): string[] {
  return wrap(text, width - indent).map((part) => ' '.repeat(indent) + paint(part));
}
