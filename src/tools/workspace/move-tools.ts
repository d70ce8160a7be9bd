import { z } from 'zod';
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { FilePlan, Preview } from '../../contract/plan';
import { defineTool } from '../define-tool';
import { nothingDone, ToolError } from '../errors';
import type { Tool } from '../types';
import { type FileLocation, type Pack, type Root, withRegularFile } from './root';
import { assertWritable, normalPath, onOneLine, splitPath, orIfMissing } from './path';
import { moveSeen, removeSeen } from './write-atomic';
import { makeHunks, renderDiff } from './hunks';
import { decodeText, encodingOf, isBinary } from './text';

/**
 * The tools that move and delete files. They are unsafe to run twice. They have no `verify`: a file that is absent or
 * present does not say who deleted, moved or made it, nor whether a lost attempt still will. A person has to say it.
 */
export function createMoveTools(root: Root, pack: Pack): Tool[] {
  return [moveFile(root, pack), deleteFile(root, pack)];
}

const file = (what: string) => z.string().min(1).describe(`${what}, relative to the workspace root.`);

function moveFile(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'move_file',
    description: 'Moves or renames a file; refuses where the new name is taken. Needs approval.',
    parameters: z.strictObject({ from: file('File to move'), to: file('Its new name') }),
    safety: 'dangerous',
    effect: 'unsafe',
    preview: ({ from, to }) => previewMove(root, from, to),
    handler: async ({ from, to }, { signal, plan }) => {
      assertMovable(from, to);
      await root.inParent(from, (source) =>
        withRegularFile(source, async (handle, facts) => {
          await assertAsShown(handle, plan);
          assertNotStopped(signal);
          const move = (target: FileLocation) => moveSeen(source, { handle, facts }, target);
          await root.inParent(to, move, { make: true });
        }),
      );
      return `Moved ${onOneLine(normalPath(from))} to ${onOneLine(normalPath(to))}.`;
    },
  });
}

async function previewMove(root: Root, from: string, to: string): Promise<Preview> {
  assertMovable(from, to);
  const { line, ...bound } = await root.inParent(from, describeFileToApprove);
  if (await isThere(root, to)) throw new ToolError(`"${to}" exists. Choose another name.`);
  return { text: `Move ${line}\nto ${onOneLine(normalPath(to))}`, ...bound };
}

function assertMovable(from: string, to: string) {
  assertWritable(splitPath(from));
  assertWritable(splitPath(to));
  if (normalPath(from) === normalPath(to))
    throw new ToolError('Both names are the same; nothing would change.');
}

function deleteFile(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'delete_file',
    description: 'Deletes a file. Folders are not deleted. Needs approval.',
    parameters: z.strictObject({ path: file('File to delete') }),
    safety: 'dangerous',
    effect: 'unsafe',
    preview: async ({ path }) => {
      assertWritable(splitPath(path));
      const { line, ...bound } = await root.inParent(path, describeFileToApprove);
      return { text: `Delete ${line}\n${await root.inParent(path, showDeletion)}`, ...bound };
    },
    handler: async ({ path }, { signal, plan }) => {
      assertWritable(splitPath(path));
      await root.inParent(path, (place) =>
        withRegularFile(place, async (handle, facts) => {
          await assertAsShown(handle, plan);
          assertNotStopped(signal);
          await removeSeen(place, { handle, facts });
        }),
      );
      return `Deleted ${onOneLine(normalPath(path))}.`;
    },
  });
}

function assertNotStopped({ aborted, reason }: AbortSignal) {
  if (aborted) throw nothingDone('it was stopped before the file was touched', { cause: reason });
}

/** The most bytes of a file to delete that the preview shows. */
const SHOWN_BYTES = 16 * 1024;

/** The most bytes to hash: more take too long for a preview. Of a larger file we hash size, time and both ends. */
const MOST_HASHED = 512 * 1024 * 1024;
const END_BYTES = 1024 * 1024;

/** A file on one line, and the plan that binds a call to the file's current bytes. */
interface DescribedFile {
  line: string;
  plan: FilePlan;
}

/** A file described for the approver: path, size and hash. @throws ToolError if it is not a regular file. */
export async function describeFileToApprove(place: FileLocation): Promise<DescribedFile> {
  return withRegularFile(place, async (handle, { size }) => {
    const baseHash = await hashFile(handle);
    const plan: FilePlan = { path: place.shown, baseHash, targetHash: '', encoding: 'latin1', hunks: [] };
    const what = size > MOST_HASHED ? 'SHA-256 of its size, time, first and last MiB' : 'SHA-256';
    return { line: `${onOneLine(place.shown)} (${size} bytes, ${what} ${baseHash})`, plan };
  });
}

/** Refuses a file whose bytes have changed since the approval. Without a plan there is nothing to compare. */
async function assertAsShown(handle: FileHandle, plan: FilePlan | undefined) {
  if (plan === undefined || (await hashFile(handle)) === plan.baseHash) return;
  const message = `Conflict: "${plan.path}" changed since this was approved. Nothing was done. Look at it and ask anew.`;
  throw new ToolError(message, { code: 'conflict' });
}

async function hashFile(handle: FileHandle) {
  const hash = createHash('sha256');
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  if (size <= MOST_HASHED) await hashPart(hash, handle, { start: 0, end: MOST_HASHED });
  else {
    const last = Number(size) - 1;
    hash.update(`${size} bytes, ${mtimeNs}\n`);
    await hashPart(hash, handle, { start: 0, end: END_BYTES - 1 });
    await hashPart(hash, handle, { start: last - END_BYTES + 1, end: last });
  }
  return hash.digest('hex');
}

async function hashPart(hash: Hash, handle: FileHandle, part: { start: number; end: number }) {
  for await (const chunk of handle.createReadStream({ ...part, autoClose: false })) hash.update(chunk);
}

/** The first lines of a file, as a diff that deletes them. */
async function showDeletion(place: FileLocation) {
  return withRegularFile(place, async (handle, { size }) => {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(SHOWN_BYTES), 0, SHOWN_BYTES, 0);
    const head = wholeLines(buffer.subarray(0, bytesRead), size);
    if (isBinary(head)) return '(binary)';
    const left = size - head.length;
    const hunks = makeHunks(decodeText(head, encodingOf(head)), '');
    const diff = renderDiff({ before: place.shown, after: null }, hunks);
    return left > 0 ? `${diff}\n(and ${left} bytes more)` : diff;
  });
}

/** The complete lines of a beginning, because a cut in the middle of a line could split a character. */
function wholeLines(head: Buffer, size: number): Buffer {
  const end = head.lastIndexOf('\n');
  return head.length >= size || end === -1 ? head : head.subarray(0, end + 1);
}

/** True for a regular file, false if nothing has this path. @throws ToolError for anything else. */
async function isThere(root: Root, path: string) {
  const there = root.inParent(path, (place) => withRegularFile(place, async () => true));
  return orIfMissing(there, false);
}
