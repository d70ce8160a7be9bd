import { structuredPatch } from 'diff';
import type { Hunk } from '../../contract/plan';
import { onOneLine } from './path';
import { splitLines } from './text';

const CONTEXT = 3;

/** The most changed lines for the best diff, which would take too long for more. Then one hunk has all differences. */
const MOST_EDITS = 2000;

const NO_NEWLINE = '\\ No newline at end of file';

/** The changes between two texts, with three lines of context and ids from `'1'`. Line ends stay unchanged. */
export function makeHunks(base: string, target: string): Hunk[] {
  const patch = structuredPatch('', '', base, target, '', '', {
    context: CONTEXT,
    maxEditLength: MOST_EDITS,
  });
  return (patch?.hunks ?? [oneHunk(base, target)]).map((hunk, index) => ({
    id: String(index + 1),
    oldStart: hunk.oldStart,
    oldLines: hunk.oldLines,
    newStart: hunk.newStart,
    newLines: hunk.newLines,
    lines: [...hunk.lines],
  }));
}

function oneHunk(base: string, target: string): Omit<Hunk, 'id'> {
  const old = splitLines(base);
  const now = splitLines(target);
  const least = Math.min(old.length, now.length);
  let head = 0;
  while (head < least && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const start = Math.max(0, head - CONTEXT);
  const after = Math.min(tail, CONTEXT);
  const before = old.slice(start, head);
  const removed = old.slice(head, old.length - tail);
  const added = now.slice(head, now.length - tail);
  const rest = old.slice(old.length - tail, old.length - tail + after);
  return {
    oldStart: start + 1,
    oldLines: before.length + removed.length + rest.length,
    newStart: start + 1,
    newLines: before.length + added.length + rest.length,
    lines: [...marked(' ', before), ...marked('-', removed), ...marked('+', added), ...marked(' ', rest)],
  };
}

function marked(sign: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, NO_NEWLINE],
  );
}

/** The text does not have the lines that a hunk was made for. */
export class HunkMismatch extends Error {
  override readonly name = 'HunkMismatch';
}

/** The text with only these hunks applied. @throws HunkMismatch if a line differs from the hunk's line. */
export function applyHunks(base: string, hunks: readonly Hunk[]): string {
  return replaceLines(base, hunks.map(forward));
}

/** The text before these hunks, and no others, were applied. @throws HunkMismatch as `applyHunks`. */
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

/** The lines (with their line ends) at an index, and the lines that replace them. */
interface Edit {
  from: number;
  removed: string[];
  added: string[];
}

function forward(hunk: Hunk): Edit {
  return { from: hunk.oldStart - 1, removed: sideOf(hunk, '-'), added: sideOf(hunk, '+') };
}

/** One side of a hunk as lines with line ends. A line before the mark `\ No newline` gets no line end. */
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

/** A unified diff of a file. `before` and `after` are its names. Null: there is no such file. No newline at its end. */
export function renderDiff(
  names: { before: string | null; after: string | null },
  hunks: readonly Hunk[],
): string {
  const [before, after] = [names.before, names.after].map((name) =>
    name === null ? '/dev/null' : onOneLine(name),
  );
  return [`--- ${before}`, `+++ ${after}`, ...renderHunks(hunks)].join('\n');
}

function renderHunks(hunks: readonly Hunk[]): string[] {
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
    ...lines,
  ]);
}

/** A range in a hunk's header. For an empty range, a unified diff has the number of the line before it. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}
