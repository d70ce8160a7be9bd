import type { Hunk } from '../../contract/plan';

/** A hunk that does not meet the lines it was made on. */
export class HunkMismatch extends Error {
  override readonly name = 'HunkMismatch';
}

/** The text with only these hunks applied. @throws HunkMismatch where a line is not what the hunk was made on. */
export function applyHunks(base: string, hunks: readonly Hunk[]): string {
  return replaceLines(base, hunks.map(forward));
}

/** The text before these hunks were applied, where no others were. @throws HunkMismatch as `applyHunks`. */
export function reverseHunks(current: string, hunks: readonly Hunk[]): string {
  let shift = 0;
  const edits = hunks.map((hunk) => {
    const { from, removed, added } = forward(hunk);
    const edit = { from: from + shift, removed: added, added: removed };
    shift += added.length - removed.length;
    return edit;
  });
  return replaceLines(current, edits);
}

/** Lines with their line ends; the last may have none. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Lines (with their line ends) that stand at an index and what takes their place. */
interface Edit {
  from: number;
  removed: string[];
  added: string[];
}

function forward(hunk: Hunk): Edit {
  return { from: hunk.oldStart - 1, removed: sideOf(hunk, '-'), added: sideOf(hunk, '+') };
}

/** One side of a hunk as lines with line ends; a mark takes the line end from the line before it. */
function sideOf({ lines }: Hunk, sign: '-' | '+'): string[] {
  const side: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (line[0] !== ' ' && line[0] !== sign) continue;
    const ended = !(lines[index + 1] ?? '').startsWith('\\');
    side.push(line.slice(1) + (ended ? '\n' : ''));
  }
  return side;
}

function replaceLines(text: string, edits: readonly Edit[]): string {
  const lines = splitLines(text);
  const parts: string[] = [];
  let next = 0;
  for (const { from, removed, added } of edits) {
    if (from < next || from > lines.length) throw new HunkMismatch('a hunk is out of place');
    if (removed.some((line, index) => lines[from + index] !== line))
      throw new HunkMismatch(`line ${from + 1} differs`);
    parts.push(lines.slice(next, from).join(''), added.join(''));
    next = from + removed.length;
  }
  return parts.join('') + lines.slice(next).join('');
}
