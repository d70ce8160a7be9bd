import { structuredPatch } from 'diff';
import type { FilePlan, Hunk } from '../../contract/plan';
import { splitLines } from './hunks';
import { onOneLine } from './path';

const CONTEXT = 3;

/** Beyond so many changed lines the best diff takes too long; one hunk then holds all that differs. */
const MOST_EDITS = 2000;

const NO_NEWLINE = '\\ No newline at end of file';

/** The changes between two texts, three lines of context, ids from `'1'`. Line ends are kept as they are. */
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

/** A plan as a unified diff; no newline at its end. */
export function renderDiff({ path, baseHash, hunks }: Pick<FilePlan, 'path' | 'baseHash' | 'hunks'>): string {
  const shown = onOneLine(path);
  const head = [`--- ${baseHash === null ? '/dev/null' : shown}`, `+++ ${shown}`];
  return [...head, ...renderHunks(hunks)].join('\n');
}

/** Hunks with their headers, as the lines of a unified diff. */
export function renderHunks(hunks: readonly Hunk[]): string[] {
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
    ...lines,
  ]);
}

/** A unified diff names the line before an empty range. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}
