import { unlink } from 'node:fs/promises';
import { z } from 'zod';
import type { Preview } from '../../contract/plan';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { Tool, Verification } from '../types';
import { assertAsShown, describeFile, isThere, showDeletion } from './describe-file';
import type { Pack } from './pack';
import { assertWritable, onOneLine, normalPath, splitPath } from './path';
import { withFile, type Place, type Root } from './root';
import { ignoreMissing, nameAnew } from './write-atomic';

/** The tools that move and delete files: not safe to run twice, so each can tell afterwards whether it happened. */
export function createMoveTools(root: Root, pack: Pack): Tool[] {
  return [moveFile(root, pack), deleteFile(root, pack)];
}

const file = (what: string) => z.string().min(1).describe(`${what}, relative to the workspace root.`);

function moveFile(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'move_file',
    description: 'Moves or renames a file; refuses where the new name is taken. Needs approval.',
    parameters: z.strictObject({ from: file('File to move'), to: file('Its new name') }),
    safety: 'dangerous',
    effect: 'unsafe',
    preview: ({ from, to }) => previewMove(root, from, to),
    verify: async ({ from, to }) => verifyMove(await isThere(root, from), await isThere(root, to), to),
    handler: async ({ from, to }, { signal, plan }) => {
      assertMovable(from, to);
      await root.inParent(from, (source) =>
        withFile(source, async (handle) => {
          await assertAsShown(handle, plan);
          signal.throwIfAborted();
          await root.inParent(to, (target) => move(source, target), { make: true });
        }),
      );
      return `Moved ${onOneLine(normalPath(from))} to ${onOneLine(normalPath(to))}.`;
    },
  });
}

async function previewMove(root: Root, from: string, to: string): Promise<Preview> {
  assertMovable(from, to);
  const { line, ...bound } = await root.inParent(from, describeFile);
  if (await isThere(root, to)) throw new ToolError(`"${to}" exists. Choose another name.`);
  return { text: `Move ${line}\nto ${onOneLine(normalPath(to))}`, ...bound };
}

function assertMovable(from: string, to: string): void {
  assertWritable(splitPath(from));
  assertWritable(splitPath(to));
  if (normalPath(from) === normalPath(to))
    throw new ToolError('Both names are the same; nothing would change.');
}

/** The new name first: a crash in between leaves the file with both names, never with none. */
async function move(source: Place, target: Place): Promise<void> {
  await nameAnew(source.at, target);
  await unlink(source.at).catch(ignoreMissing);
  await Promise.all([source.folder.sync(), target.folder.sync()]);
}

function verifyMove(fromThere: boolean, toThere: boolean, to: string): Verification {
  if (!fromThere && toThere)
    return { outcome: 'happened', content: `Moved to ${onOneLine(normalPath(to))}.` };
  return fromThere && !toThere ? { outcome: 'did_not' } : { outcome: 'cannot_tell' };
}

function deleteFile(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'delete_file',
    description: 'Deletes a file. Folders are not deleted. Needs approval.',
    parameters: z.strictObject({ path: file('File to delete') }),
    safety: 'dangerous',
    effect: 'unsafe',
    preview: async ({ path }) => {
      assertWritable(splitPath(path));
      const { line, ...bound } = await root.inParent(path, describeFile);
      return { text: `Delete ${line}\n${await root.inParent(path, showDeletion)}`, ...bound };
    },
    verify: async ({ path }) =>
      (await isThere(root, path)) ? { outcome: 'did_not' } : { outcome: 'happened', content: deleted(path) },
    handler: async ({ path }, { signal, plan }) => {
      assertWritable(splitPath(path));
      await root.inParent(path, async (place) => {
        await withFile(place, async (handle) => {
          await assertAsShown(handle, plan);
          signal.throwIfAborted();
          await unlink(place.at);
        });
        await place.folder.sync();
      });
      return deleted(path);
    },
  });
}

function deleted(path: string): string {
  return `Deleted ${onOneLine(normalPath(path))}.`;
}
