import type { Hunk } from '../../contract/plan';

/** A line of a hunk and its number in the file before and after; empty where it is not in that one. */
export interface NumberedLine {
  before: number | '';
  after: number | '';
  /** With its mark. */
  line: string;
}

/** The lines of a hunk with their numbers. */
export function numbered({ oldStart, newStart, lines }: Hunk): NumberedLine[] {
  let before = oldStart;
  let after = newStart;
  return lines.map((line) => {
    const mark = line[0];
    if (mark === '+') return { before: '', after: after++, line };
    if (mark === '-') return { before: before++, after: '', line };
    if (mark === '\\') return { before: '', after: '', line };
    return { before: before++, after: after++, line };
  });
}
