import { structuredPatch } from 'diff';
import { type Hunk, hunkRange } from '../../contract/plan';
import { ToolError } from '../errors';
import { onOneLine } from './path';
import { countLines, skipLines, splitLines } from './text';

const CONTEXT = 3;

/** The most changed lines for the best diff, which would take too long for more. Then one hunk has all differences. */
const MOST_EDITS = 2000;

/** The best diff gets this much time, because nothing else runs meanwhile. Then one hunk has all differences. */
const MOST_MS = 1000;

/** The most lines of each text, from the first change to the last, that are compared. */
const MOST_LINES = 100_000;

const NO_NEWLINE = '\\ No newline at end of file';

/**
 * The changes between two texts, with three lines of context and ids from `'1'`. Line ends stay unchanged.
 *
 * @throws ToolError if too many lines lie between the first change and the last. Nobody could review so many.
 */
export function makeHunks(base: string, target: string): Hunk[] {
  const { start, old, now } = changedPart(base, target);
  const counts = [countLines(old), countLines(now)];
  if (Math.max(...counts) > MOST_LINES)
    throw new ToolError(
      `This change is too large to be shown: from its first to its last changed line there are ${counts.join(' old and ')} new lines, and at most ${MOST_LINES} are compared. Nothing was changed. Change less in one call, or make changes that are far apart in a call each.`,
    );
  const above = countLines(base.slice(0, start));
  const limits = { maxEditLength: MOST_EDITS, timeout: MOST_MS };
  const patch = structuredPatch('', '', old, now, '', '', { context: CONTEXT, ...limits });
  return (patch?.hunks ?? [oneHunk(old, now)]).map((hunk, index) => ({
    id: String(index + 1),
    oldStart: hunk.oldStart + above,
    oldLines: hunk.oldLines,
    newStart: hunk.newStart + above,
    newLines: hunk.newLines,
    lines: [...hunk.lines],
  }));
}

/** What lies between the lines that two texts share at their beginning and their end, with the lines of context. */
function changedPart(base: string, target: string) {
  const least = Math.min(base.length, target.length);
  let same = 0;
  while (same < least && base.charCodeAt(same) === target.charCodeAt(same)) same++;
  const head = same === 0 ? 0 : base.lastIndexOf('\n', same - 1) + 1;
  const shift = target.length - base.length;
  let tail = base.length;
  const lowest = head + Math.max(0, -shift);
  while (tail > lowest && base.charCodeAt(tail - 1) === target.charCodeAt(tail - 1 + shift)) tail--;
  const start = backLines(base, head);
  const end = skipLines(base, base.indexOf('\n', tail) + 1 || base.length, CONTEXT) ?? base.length;
  return { start, old: base.slice(start, end), now: target.slice(start, end + shift) };
}

/** The start of the first line of context above a line that starts at `head`. */
function backLines(text: string, head: number) {
  let at = head;
  for (let lines = 0; lines < CONTEXT && at > 0; lines++)
    at = at < 2 ? 0 : text.lastIndexOf('\n', at - 2) + 1;
  return at;
}

function oneHunk(base: string, target: string) {
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

function marked(sign: string, lines: readonly string[]) {
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
function sideOf({ lines }: Hunk, sign: '-' | '+') {
  const side: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (line[0] !== ' ' && line[0] !== sign) continue;
    const ended = !(lines[index + 1] ?? '').startsWith('\\');
    side.push(line.slice(1) + (ended ? '\n' : ''));
  }
  return side;
}

function replaceLines(text: string, edits: readonly Edit[]) {
  const parts: string[] = [];
  let next = { line: 0, at: 0 };
  for (const { from, removed, added } of edits) {
    const at = from < next.line ? undefined : skipLines(text, next.at, from - next.line);
    if (at === undefined) throw new HunkMismatch('a hunk is out of place');
    const end = endOf(text, at, removed);
    if (end === undefined) throw new HunkMismatch(`line ${from + 1} differs`);
    parts.push(text.slice(next.at, at), added.join(''));
    next = { line: from + removed.length, at: end };
  }
  return parts.join('') + text.slice(next.at);
}

/** Where these whole lines end, if they stand at an index. Only the last line of a text may have no line end. */
function endOf(text: string, at: number, lines: readonly string[]): number | undefined {
  const all = lines.join('');
  const end = at + all.length;
  const isWhole = (line: string, index: number) =>
    line.endsWith('\n') || (index === lines.length - 1 && end === text.length);
  return lines.every(isWhole) && text.startsWith(all, at) ? end : undefined;
}

/** A unified diff of a file. `before` and `after` are its names. Null: there is no such file. No newline at its end. */
export function renderDiff(
  names: { before: string | null; after: string | null },
  hunks: readonly Hunk[],
): string {
  const [before, after] = [names.before, names.after].map((name) =>
    name === null ? '/dev/null' : onOneLine(name),
  );
  return [`--- ${before}`, `+++ ${after}`, ...hunks.flatMap((hunk) => [hunkRange(hunk), ...hunk.lines])].join(
    '\n',
  );
}
