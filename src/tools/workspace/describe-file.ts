import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { FilePlan } from '../../contract/plan';
import { ToolError } from '../errors';
import { isMissing } from './errno';
import { makeHunks, renderHunks } from './make-hunks';
import { onOneLine } from './path';
import { withFile, type Place, type Root } from './root';
import { decodeText, encodingOf, isBinary } from './text';

/** Of a file that is to be deleted, so much is shown. */
const SHOWN_BYTES = 16 * 1024;

/** Hashing more would outlast a preview. */
const MOST_HASHED = 512 * 1024 * 1024;

/** A file on one line, and the plan that binds a call to the bytes it has now. */
export interface DescribedFile {
  line: string;
  /** Absent where the file is too large to hash. */
  plan?: FilePlan;
}

/** A file as an approver is shown it: its path, size and hash. @throws ToolError where it is no regular file. */
export async function describeFile(place: Place): Promise<DescribedFile> {
  return withFile(place, async (handle, { size }) => {
    const line = `${onOneLine(place.shown)} (${size} bytes, `;
    if (size > MOST_HASHED) return { line: `${line}not hashed: too large)` };
    const baseHash = await hashFile(handle);
    const plan: FilePlan = { path: place.shown, baseHash, targetHash: '', encoding: 'latin1', hunks: [] };
    return { line: `${line}SHA-256 ${baseHash})`, plan };
  });
}

/** Refuses to touch a file whose bytes are not those that were shown; without a plan there is nothing to compare. */
export async function assertAsShown(handle: FileHandle, plan: FilePlan | undefined): Promise<void> {
  if (plan === undefined || (await hashFile(handle)) === plan.baseHash) return;
  const message = `Conflict: "${plan.path}" changed since this was approved. Nothing was done. Look at it and ask anew.`;
  throw new ToolError(message, { code: 'conflict' });
}

async function hashFile(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const stream = handle.createReadStream({ start: 0, end: MOST_HASHED, autoClose: false });
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest('hex');
}

/** The first lines of a file, as the diff that deletes them. */
export async function showDeletion(place: Place): Promise<string> {
  return withFile(place, async (handle, { size }) => {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(SHOWN_BYTES), 0, SHOWN_BYTES, 0);
    const head = wholeLines(buffer.subarray(0, bytesRead), size);
    if (isBinary(head)) return '(binary)';
    const left = size - head.length;
    const hunks = makeHunks(decodeText(head, encodingOf(head)), '');
    const name = onOneLine(place.shown);
    const lines = [`--- ${name}`, '+++ /dev/null', ...renderHunks(hunks)];
    return [...lines, ...(left > 0 ? [`(and ${left} bytes more)`] : [])].join('\n');
  });
}

/** A cut in the middle of a line could split a character. */
function wholeLines(head: Buffer, size: number): Buffer {
  const end = head.lastIndexOf('\n');
  return head.length >= size || end === -1 ? head : head.subarray(0, end + 1);
}

/** Whether a path is a regular file, or nothing at all. @throws ToolError where it is anything else. */
export async function isThere(root: Root, path: string): Promise<boolean> {
  try {
    return await root.inParent(path, (place) => withFile(place, async () => true));
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
