import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../errors';
import { codeOf, explain } from './errno';
import type { Folder, FolderPath } from './folder';

/**
 * Holds a folder by its path, for systems that cannot open names below a descriptor. Every folder on the way is looked at
 * before and after, and what was opened has to be what stands there: a folder swapped for a link is noticed before
 * anything is read or written through it.
 */
export async function holdByChecks({ root, names, make = false }: FolderPath): Promise<Folder> {
  const base = await realpath(root);
  if (make) await makeFolders(base, names);
  const path = join(base, ...names);
  const identity = await identify(base, names);
  const verify = async (): Promise<void> => {
    if ((await identify(base, names)) !== identity) throw changed();
  };
  return {
    at: (name) => join(path, name),
    verify,
    confirm: async (name, { dev, ino }) => {
      await verify();
      const there = await lstat(join(path, name));
      if (there.dev !== dev || there.ino !== ino) throw changed();
      await verify();
    },
    sync: () => syncFolder(path),
    close: async () => {},
  };
}

function changed(): ToolError {
  return new ToolError(
    'A folder on the way changed while it was used. Nothing was read or written; try again.',
  );
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await handle.sync().finally(() => handle.close());
}

async function makeFolders(base: string, names: readonly string[]): Promise<void> {
  for (let depth = 1; depth <= names.length; depth++) {
    await identify(base, names.slice(0, depth - 1));
    await mkdir(join(base, ...names.slice(0, depth))).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw explain(error, names.slice(0, depth).join('/'));
    });
  }
}

/** Device and inode of every folder on the way; throws at a link. */
async function identify(base: string, names: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (let depth = 0; depth <= names.length; depth++) {
    parts.push(
      await identifyOne(join(base, ...names.slice(0, depth)), names.slice(0, depth).join('/') || '.'),
    );
  }
  return parts.join('/');
}

async function identifyOne(path: string, shown: string): Promise<string> {
  try {
    const facts = await lstat(path, { bigint: true });
    if (facts.isDirectory()) return `${facts.dev}:${facts.ino}`;
  } catch (error) {
    throw explain(error, shown);
  }
  throw explain(Object.assign(new Error('not a folder'), { code: 'ENOTDIR' }), shown);
}
