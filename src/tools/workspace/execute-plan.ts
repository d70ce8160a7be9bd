import type { FilePlan, Hunk } from '../../contract/plan';
import { ToolError } from '../errors';
import { applyHunks, HunkMismatch, reverseHunks } from './hunks';
import { assertWritable, splitPath } from './path';
import { readBytes, type Content, type Place, type Root } from './root';
import { isMissing } from './errno';
import { decodeText, encodeText, encodingOf, hashBytes } from './text';
import { writeAtomic } from './write-atomic';

/** What was done to a file. */
export interface Written {
  path: string;
  /** Size of the file now; 0 where nothing was written. */
  bytes: number;
  /** `already`: the file was as approved, because an earlier attempt had written it. */
  done: 'written' | 'already' | 'rejected';
  rejected: Hunk[];
}

/**
 * Does what was approved: the hunks named (absent: all), on the very bytes they were planned on. A file that already is
 * the target is done; any other is a conflict, and nothing is written.
 *
 * @throws ToolError `conflict`.
 */
export async function executePlan(root: Root, plan: FilePlan, chosen?: readonly string[]): Promise<Written> {
  const { path } = plan;
  assertWritable(splitPath(path));
  const { kept, rejected } = choose(plan, chosen);
  if (kept.length === 0 && rejected.length > 0) return { path, bytes: 0, done: 'rejected', rejected };
  const write = async (place: Place): Promise<Written> => {
    const current = await readThere(place);
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
  if (unknown !== undefined) throw conflict(plan.path, `its plan has no hunk "${unknown}"`);
  const kept = plan.hunks.filter(({ id }) => chosen?.includes(id) ?? true);
  return { kept, rejected: plan.hunks.filter((hunk) => !kept.includes(hunk)) };
}

async function readThere(place: Place): Promise<Content | null> {
  try {
    return await readBytes(place);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Whether an earlier attempt has written these hunks already. A part of them shows by taking it back. */
function isDone(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer): boolean {
  const hash = hashBytes(bytes);
  if (hash === plan.baseHash) return false;
  if (kept.length === plan.hunks.length) return hash === plan.targetHash;
  // Bytes that are no UTF-8 would be read as U+FFFD, and taken for it.
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
  if (hash !== plan.baseHash) throw conflict(plan.path, 'the file changed since this was proposed');
  const base = bytes === null ? '' : decodeText(bytes, plan.encoding);
  const target = encodeText(applyPlanned(plan, kept, base), plan.encoding);
  const whole = kept.length === plan.hunks.length;
  if (whole && hashBytes(target) !== plan.targetHash)
    throw conflict(plan.path, 'the plan does not lead to its target');
  return target;
}

function applyPlanned(plan: FilePlan, kept: readonly Hunk[], base: string): string {
  try {
    return applyHunks(base, kept);
  } catch (error) {
    if (error instanceof HunkMismatch) throw conflict(plan.path, error.message);
    throw error;
  }
}

function conflict(path: string, why: string): ToolError {
  const message = `Conflict at "${path}": ${why}. Nothing was written. Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict' });
}

/** What the model reads of a write. */
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
