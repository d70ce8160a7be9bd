import type { FilePlan, Hunk, Preview } from '../../contract/plan';
import { isToolError, ToolError } from '../errors';
import { applyHunks, HunkMismatch, makeHunks, renderDiff, reverseHunks } from './hunks';
import { assertWritable, normalPath, splitPath, orIfMissing } from './path';
import { type FileLocation, readBytes, readBytesIfThere, type Root } from './root';
import { decodeText, encodeText, type Encoding, encodingOf, isBinary, marked } from './text';
import { requireOneName, writeAtomic } from './write-atomic';
import { sha256 } from '../../system/sha256';

/**
 * Makes the new text of a file. `base` is null if there is no file. Texts are in the file's encoding. Throws an
 * error for the model.
 */
export type Change = (base: string | null, encoding: Encoding) => string;

/**
 * Plans a change of one file. Writes nothing.
 * @throws ToolError if the change cannot be made, or would change nothing.
 */
export async function planFile(root: Root, path: string, change: Change): Promise<FilePlan> {
  assertWritable(splitPath(path));
  const current = await readBytesIfThere(root, path);
  requireOneName(normalPath(path), current?.facts);
  return makePlan(current?.path ?? normalPath(path), current?.bytes ?? null, change);
}

/**
 * Changes one file without a plan, if nobody is asked. So no diff is made.
 * @throws ToolError if the change cannot be made, or would change nothing.
 */
export async function changeFile(root: Root, path: string, change: Change): Promise<WrittenFile> {
  assertWritable(splitPath(path));
  const current = await readBytesIfThere(root, path);
  const found = current?.path ?? normalPath(path);
  const { target, encoding } = changed(found, current?.bytes ?? null, change);
  const bytes = encodeText(target, encoding);
  const write = (place: FileLocation) => writeAtomic(place, bytes, current?.facts);
  await root.inParent(path, write, { make: current === null });
  return { path: found, bytes: bytes.length, done: 'written', rejected: [] };
}

/**
 * Changes one file without a plan, if an earlier attempt may have done it. `change` must not depend on the text before.
 * @throws ToolError `conflict` if the change cannot be made now. It says that the earlier attempt may have made it.
 */
export async function changeFileAgain(root: Root, path: string, change: Change): Promise<WrittenFile> {
  assertWritable(splitPath(path));
  try {
    const current = await readBytesIfThere(root, path);
    if (current === null) return await changeFile(root, path, change);
    const encoding = encodingOf(current.bytes);
    const made = change(null, encoding);
    const asked = encodeText(marked(made, encoding), encoding);
    if (!current.bytes.equals(asked)) return await changeFile(root, path, change);
    return { path: normalPath(path), bytes: asked.length, done: 'asked', rejected: [] };
  } catch (error) {
    throw isToolError(error) ? mayBeChanged(normalPath(path), error) : error;
  }
}

/** The error of a later attempt that wrote nothing. `why`: the reason, unless nothing was tried. */
export function mayBeChanged(path: string, why?: ToolError): ToolError {
  const reason = why === undefined ? '.' : `: ${why.message}`;
  const message = `An earlier attempt may have changed "${path}". This attempt wrote nothing${reason} Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict', cause: why });
}

function makePlan(path: string, bytes: Buffer | null, change: Change): FilePlan {
  const { base, target, encoding } = changed(path, bytes, change);
  return {
    path,
    baseHash: bytes === null ? null : sha256(bytes),
    targetHash: sha256(encodeText(target, encoding)),
    encoding,
    hunks: makeHunks(base ?? '', target),
  };
}

function changed(path: string, bytes: Buffer | null, change: Change) {
  if (bytes !== null && isBinary(bytes))
    throw new ToolError(`"${path}" is a binary file; it has no text to change.`);
  const encoding = bytes === null ? 'utf8' : encodingOf(bytes);
  const base = bytes === null ? null : decodeText(bytes, encoding);
  const made = change(base, encoding);
  const target = marked(made, encoding);
  if (target === base) throw new ToolError(`Nothing would change in "${path}"; it already is as asked.`);
  return { base, target, encoding };
}

const NOTES: Readonly<Record<Encoding, string>> = {
  utf8: '',
  latin1: '(not UTF-8: shown as Latin-1, every byte is kept)\n',
  utf16le: '(UTF-16, little-endian)\n',
  utf16be: '(UTF-16, big-endian)\n',
};

/** The preview for an approver: the unified diff. */
export function previewOf(plan: FilePlan): Preview {
  const note = NOTES[plan.encoding];
  const empty = plan.hunks.length === 0 ? '\n(an empty file)' : '';
  const names = { before: plan.baseHash === null ? null : plan.path, after: plan.path };
  return { text: note + renderDiff(names, plan.hunks) + empty, plan };
}

/** The result of executing a plan. */
export interface WrittenFile {
  path: string;
  /** Size of the file now; 0 if nothing was written. */
  bytes: number;
  /**
   * `already`: the file was as approved, because an earlier attempt had written it. `asked`: the same without a plan.
   */
  done: 'written' | 'already' | 'asked' | 'rejected';
  rejected: Hunk[];
}

/** The attempt that executes a plan, and the hunks to apply. */
interface PlanRun {
  /** Ids of the hunks to apply. @default all */
  hunks?: readonly string[];
  /** Whether an earlier attempt may have run. @default false */
  ranBefore?: boolean;
}

/**
 * Applies the approved hunks to the same bytes for which they were planned. If the file already is the target, there
 * is nothing to do. Any other file is a conflict, and this attempt writes nothing.
 *
 * @throws ToolError `conflict`.
 */
export async function executePlan(root: Root, plan: FilePlan, run: PlanRun = {}): Promise<WrittenFile> {
  try {
    return await writePlanned(root, plan, run.hunks);
  } catch (error) {
    throw error instanceof Conflict ? conflictError(plan.path, error.message, run) : error;
  }
}

class Conflict extends Error {}

function conflictError(path: string, why: string, { ranBefore = false }: PlanRun): ToolError {
  const wrote = ranBefore ? 'This attempt wrote nothing; an earlier one may have.' : 'Nothing was written.';
  const message = `Conflict at "${path}": ${why}. ${wrote} Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict' });
}

async function writePlanned(root: Root, plan: FilePlan, chosen?: readonly string[]): Promise<WrittenFile> {
  const { path } = plan;
  assertWritable(splitPath(path));
  const { kept, rejected } = choose(plan, chosen);
  if (kept.length === 0 && rejected.length > 0) return { path, bytes: 0, done: 'rejected', rejected };
  const write = async (place: FileLocation): Promise<WrittenFile> => {
    const current = await orIfMissing(readBytes(place), null);
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
 * Whether an earlier attempt has already written these hunks. If only some hunks were kept, reversing them has to
 * give the bytes for which they were planned.
 */
function isDone(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer): boolean {
  const hash = sha256(bytes);
  if (hash === plan.baseHash) return false;
  if (kept.length === plan.hunks.length) return hash === plan.targetHash;
  // Bytes that are not UTF-8 would be decoded as U+FFFD and would then match a real U+FFFD.
  if (plan.encoding !== 'latin1' && encodingOf(bytes) !== plan.encoding) return false;
  try {
    const before = encodeText(reverseHunks(decodeText(bytes, plan.encoding), kept), plan.encoding);
    return plan.baseHash !== null && sha256(before) === plan.baseHash;
  } catch (error) {
    if (error instanceof HunkMismatch) return false;
    throw error;
  }
}

function targetOf(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer | null): Buffer {
  const hash = bytes === null ? null : sha256(bytes);
  if (hash !== plan.baseHash) throw new Conflict('the file changed since this was proposed');
  const base = bytes === null ? '' : decodeText(bytes, plan.encoding);
  const target = encodeText(applyPlanned(plan, kept, base), plan.encoding);
  const whole = kept.length === plan.hunks.length;
  if (whole && sha256(target) !== plan.targetHash) throw new Conflict('the plan does not lead to its target');
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
export function describeWritten({ path, bytes, done, rejected }: WrittenFile): string {
  if (done === 'rejected') {
    return `Nothing was written to ${path}: a person rejected every hunk. Stop, and do not propose this change again.`;
  }
  const what =
    done === 'written'
      ? `Wrote ${path} (${bytes} bytes).`
      : `${path} already is as ${done === 'asked' ? 'asked' : 'approved'} (${bytes} bytes); nothing had to be written.`;
  if (rejected.length === 0) return what;
  const names = rejected.map(({ id, oldStart }) => `${id} (at line ${oldStart} of the old file)`);
  const left = rejected.length === 1 ? 'this hunk, which was' : 'these hunks, which were';
  return `${what} A person rejected ${left} left out: ${names.join(', ')}. Do not propose that part again.`;
}
