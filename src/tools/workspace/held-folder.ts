import { constants, existsSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../errors';
import { errnoOf } from '../../contract/errors';
import { flushFolder } from '../../system/files';
import { explainSystemError } from './path';

/** A folder inside the root. While it is held, it stays the same folder, whatever is renamed around it. */
export interface Folder {
  /** A path to a name in this folder, safe to open as long as the name itself is opened without following links. */
  at(name: string): string;
  /** Throws if an opened file is not the file that this folder has under `name`. Call it before using the file. */
  confirm(name: string, facts: Pick<Stats, 'dev' | 'ino'>): Promise<void>;
  /** Throws if the folder is not at its path any more. Called after an operation that could not use a descriptor. */
  verify(): Promise<void>;
  /** Flushes the folder's names to disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The folder to hold: names below a root. */
interface FolderPath {
  root: string;
  names: readonly string[];
  /** Makes the folders that are missing. @default false */
  make?: boolean;
}

/**
 * How folders are held. `descriptors`: by open descriptors (Linux), so that nothing can be swapped in. `checks`: by
 * paths that are checked before and after; an opened file is compared before it is used.
 */
export type FolderAccess = 'descriptors' | 'checks';

/** The strongest method that this system has. Only Linux resolves names below an open folder, through /proc. */
export const FOLDER_ACCESS: FolderAccess =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'checks';

/** Opens a folder below the root, name by name. Links are not followed, so the folder cannot lie outside. */
export async function openFolder(path: FolderPath, holding: FolderAccess = FOLDER_ACCESS): Promise<Folder> {
  return holding === 'descriptors' ? openByDescriptors(path) : openByChecks(path);
}

/**
 * Holds a folder by its path, for systems that cannot open names below a descriptor. Every folder on the path is
 * checked before and after, and an opened file has to be the file at its path. So a folder that was swapped for a link
 * is noticed before anything is read or written through the link.
 */
async function openByChecks({ root, names, make = false }: FolderPath): Promise<Folder> {
  const base = await realpath(root);
  if (make) await makeFolders(base, names);
  const path = join(base, ...names);
  const identity = await identify(base, names);
  const verify = async () => {
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

function changed() {
  return new ToolError(
    'A folder on the way changed while it was used. Nothing was read or written; try again.',
  );
}

async function syncFolder(path: string) {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await flushFolder(handle).finally(() => handle.close());
}

async function makeFolders(base: string, names: readonly string[]) {
  for (let depth = 1; depth <= names.length; depth++) {
    await identify(base, names.slice(0, depth - 1));
    await mkdir(join(base, ...names.slice(0, depth))).catch((error: unknown) => {
      if (errnoOf(error) !== 'EEXIST') throw explainSystemError(error, names.slice(0, depth).join('/'));
    });
  }
}

/** Device and inode of every folder on the path. Throws at a link. */
async function identify(base: string, names: readonly string[]) {
  const parts: string[] = [];
  for (let depth = 0; depth <= names.length; depth++) {
    parts.push(
      await identifyOne(join(base, ...names.slice(0, depth)), names.slice(0, depth).join('/') || '.'),
    );
  }
  return parts.join('/');
}

async function identifyOne(path: string, shown: string) {
  try {
    const facts = await lstat(path, { bigint: true });
    if (facts.isDirectory()) return `${facts.dev}:${facts.ino}`;
  } catch (error) {
    throw explainSystemError(error, shown);
  }
  throw explainSystemError(Object.assign(new Error('not a folder'), { code: 'ENOTDIR' }), shown);
}

const ROOT = constants.O_RDONLY | constants.O_DIRECTORY;
const DIRECTORY = ROOT | constants.O_NOFOLLOW;

/**
 * Holds a folder by a descriptor. Each name is opened relative to the folder before it. So if somebody swaps a folder
 * for a link meanwhile, either we already hold the folder, or we refuse the link.
 */
async function openByDescriptors({ root, names, make = false }: FolderPath): Promise<Folder> {
  let handle = await open(root, ROOT);
  for (const [index, name] of names.entries()) {
    const parent = handle;
    try {
      handle = await openBelow(parent, name, make);
    } catch (error) {
      throw explainSystemError(error, names.slice(0, index + 1).join('/'));
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

async function makeBelow(parent: FileHandle, name: string) {
  try {
    await mkdir(through(parent, name));
    await flushFolder(parent);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

/** A path that the kernel resolves against the open folder itself, not against the folder's name. */
function through(handle: FileHandle, name: string) {
  return `/proc/self/fd/${handle.fd}/${name}`;
}

/** A folder held by a descriptor. Files that are opened through it need no further check. */
function toFolder(handle: FileHandle): Folder {
  return {
    at: (name) => through(handle, name),
    confirm: async () => {},
    verify: async () => {},
    sync: () => flushFolder(handle),
    close: () => handle.close(),
  };
}
