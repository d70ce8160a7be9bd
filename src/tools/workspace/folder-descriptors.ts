import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { codeOf, explain } from './errno';
import type { Folder, FolderPath } from './folder';

const ROOT = constants.O_RDONLY | constants.O_DIRECTORY;
const DIRECTORY = ROOT | constants.O_NOFOLLOW;

/**
 * Holds a folder by a descriptor. Each name is opened relative to the folder before it, so a folder that is swapped for
 * a link between two names is either the one already held, or refused.
 */
export async function holdByDescriptors({ root, names, make = false }: FolderPath): Promise<Folder> {
  let handle = await open(root, ROOT);
  for (const [index, name] of names.entries()) {
    const parent = handle;
    try {
      handle = await openBelow(parent, name, make);
    } catch (error) {
      throw explain(error, names.slice(0, index + 1).join('/'));
    } finally {
      await parent.close();
    }
  }
  return toFolder(handle);
}

async function openBelow(parent: FileHandle, name: string, make: boolean): Promise<FileHandle> {
  if (make) await makeBelow(parent, name);
  return open(through(parent, name), DIRECTORY);
}

async function makeBelow(parent: FileHandle, name: string): Promise<void> {
  try {
    await mkdir(through(parent, name));
    await parent.sync();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** The kernel resolves this against the open folder itself, not against its name. */
function through(handle: FileHandle, name: string): string {
  return `/proc/self/fd/${handle.fd}/${name}`;
}

/** What was opened through the descriptor needs no second look. */
function toFolder(handle: FileHandle): Folder {
  return {
    at: (name) => through(handle, name),
    confirm: async () => {},
    verify: async () => {},
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}
