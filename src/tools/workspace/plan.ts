import { structuredPatch } from 'diff';
import type { FilePlan, Hunk, Preview } from '../../contract/plan';
import { ToolError } from '../errors';
import { assertWritable, normalPath, onOneLine, splitPath, unlessMissing } from './path';
import { type FileLocation, readBytes, readIfThere, type Root } from './root';
import { decodeText, encodeText, type Encoding, encodingOf, hashBytes, isBinary, splitLines } from './text';
import { writeAtomic } from './write-atomic';

/**
 * Makes the new text of a file. `base` is null where there is no file. Texts are in the file's encoding. Throws an
 * error for the model.
 */
export type Change = (base: string | null, encoding: Encoding) => string;

/** Plans a change of one file. Writes nothing. @throws ToolError where it cannot be made, or would change nothing. */
export async function planFile(root: Root, path: string, change: Change): Promise<FilePlan> {
  assertWritable(splitPath(path));
  const current = await readIfThere(root, path);
  return makePlan(normalPath(path), current?.bytes ?? null, change);
}

function makePlan(path: string, bytes: Buffer | null, change: Change): FilePlan {
  if (bytes !== null && isBinary(bytes))
    throw new ToolError(`"${path}" is a binary file; it has no text to change.`);
  const encoding = bytes === null ? 'utf8' : encodingOf(bytes);
  const base = bytes === null ? null : decodeText(bytes, encoding);
  const target = change(base, encoding);
  if (target === base) throw new ToolError(`Nothing would change in "${path}"; it already is as asked.`);
  return {
    path,
    baseHash: bytes === null ? null : hashBytes(bytes),
    targetHash: hashBytes(encodeText(target, encoding)),
    encoding,
    hunks: makeHunks(base ?? '', target),
  };
}

/** The preview for an approver: the unified diff. */
export function previewOf(plan: FilePlan): Preview {
  const note = plan.encoding === 'latin1' ? '(not UTF-8: shown as Latin-1, every byte is kept)\n' : '';
  const empty = plan.hunks.length === 0 ? '\n(an empty file)' : '';
  return { text: note + renderDiff(plan) + empty, plan };
}

/** The result of executing a plan. */
interface Written {
  path: string;
  /** Size of the file now; 0 where nothing was written. */
  bytes: number;
  /** `already`: the file was as approved, because an earlier attempt had written it. */
  done: 'written' | 'already' | 'rejected';
  rejected: Hunk[];
}

/** The attempt that executes a plan, and the hunks to apply. */
interface PlanRun {
  /** Ids of the hunks to apply. @default all */
  hunks?: readonly string[] | undefined;
  /** @default 1 */
  attempt?: number;
}

/**
 * Applies the approved hunks to the same bytes for which they were planned. Where the file already is the target, there
 * is nothing to do. Any other file is a conflict, and this attempt writes nothing.
 *
 * @throws ToolError `conflict`.
 */
export async function executePlan(root: Root, plan: FilePlan, run: PlanRun = {}): Promise<Written> {
  try {
    return await writePlanned(root, plan, run.hunks);
  } catch (error) {
    throw error instanceof Conflict ? conflictError(plan.path, error.message, run) : error;
  }
}

class Conflict extends Error {}

function conflictError(path: string, why: string, { attempt = 1 }: PlanRun): ToolError {
  const wrote = attempt > 1 ? 'This attempt wrote nothing; an earlier one may have.' : 'Nothing was written.';
  const message = `Conflict at "${path}": ${why}. ${wrote} Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict' });
}

async function writePlanned(root: Root, plan: FilePlan, chosen?: readonly string[]): Promise<Written> {
  const { path } = plan;
  assertWritable(splitPath(path));
  const { kept, rejected } = choose(plan, chosen);
  if (kept.length === 0 && rejected.length > 0) return { path, bytes: 0, done: 'rejected', rejected };
  const write = async (place: FileLocation): Promise<Written> => {
    const current = await unlessMissing(readBytes(place), null);
    const bytes = current?.bytes ?? null;
    if (bytes !== null && isDone(plan, kept, bytes)) {
      return { path, bytes: bytes.length, done: 'already', rejected };
    }
    const target = targetOf(plan, kept, bytes);
    await writeAtomic(place, target, current?.facts);
    return { path, bytes: target.length, done: 'written', rejected };
  };
  return root.inParent(path, write, { make: plan.baseHash === null });
}

function choose(plan: FilePlan, chosen: readonly string[] | undefined) {
  const unknown = chosen?.find((id) => !plan.hunks.some((hunk) => hunk.id === id));
  if (unknown !== undefined) throw new Conflict(`its plan has no hunk "${unknown}"`);
  const kept = plan.hunks.filter(({ id }) => chosen?.includes(id) ?? true);
  return { kept, rejected: plan.hunks.filter((hunk) => !kept.includes(hunk)) };
}

/**
 * Whether an earlier attempt has already written these hunks. Where only some hunks were kept, reversing them has to
 * give the bytes for which they were planned.
 */
function isDone(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer): boolean {
  const hash = hashBytes(bytes);
  if (hash === plan.baseHash) return false;
  if (kept.length === plan.hunks.length) return hash === plan.targetHash;
  // Bytes that are not UTF-8 would be decoded as U+FFFD and would then match a real U+FFFD.
  if (plan.encoding === 'utf8' && encodingOf(bytes) !== 'utf8') return false;
  try {
    const before = encodeText(reverseHunks(decodeText(bytes, plan.encoding), kept), plan.encoding);
    return plan.baseHash !== null && hashBytes(before) === plan.baseHash;
  } catch (error) {
    if (error instanceof HunkMismatch) return false;
    throw error;
  }
}

function targetOf(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer | null): Buffer {
  const hash = bytes === null ? null : hashBytes(bytes);
  if (hash !== plan.baseHash) throw new Conflict('the file changed since this was proposed');
  const base = bytes === null ? '' : decodeText(bytes, plan.encoding);
  const target = encodeText(applyPlanned(plan, kept, base), plan.encoding);
  const whole = kept.length === plan.hunks.length;
  if (whole && hashBytes(target) !== plan.targetHash)
    throw new Conflict('the plan does not lead to its target');
  return target;
}

function applyPlanned(plan: FilePlan, kept: readonly Hunk[], base: string): string {
  try {
    return applyHunks(base, kept);
  } catch (error) {
    if (error instanceof HunkMismatch) throw new Conflict(error.message);
    throw error;
  }
}

/** The result of a write for the model. */
export function describeWritten({ path, bytes, done, rejected }: Written): string {
  if (done === 'rejected') {
    return `Nothing was written to ${path}: a person rejected every hunk. Stop, and do not propose this change again.`;
  }
  const what =
    done === 'written'
      ? `Wrote ${path} (${bytes} bytes).`
      : `${path} already is as approved (${bytes} bytes); nothing had to be written.`;
  if (rejected.length === 0) return what;
  const names = rejected.map(({ id, oldStart }) => `${id} (at line ${oldStart} of the old file)`);
  const left = rejected.length === 1 ? 'this hunk, which was' : 'these hunks, which were';
  return `${what} A person rejected ${left} left out: ${names.join(', ')}. Do not propose that part again.`;
}

/** The text does not have the lines that a hunk was made for. */
export class HunkMismatch extends Error {
  override readonly name = 'HunkMismatch';
}

/** The text with only these hunks applied. @throws HunkMismatch where a line differs from the hunk's line. */
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

/** A range in a hunk's header. For an empty range, a unified diff has the number of the line before it. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}
