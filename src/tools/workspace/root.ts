import { constants, existsSync, type Stats } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CountersignError, errnoOf } from '../../contract/errors';
import { ToolError, TransportError } from '../errors';
import { explainSystemError, splitPath, orIfMissing } from './path';
import { type Folder, type FolderAccess, openFolder } from './held-folder';
import { unitEscapes } from '../../contract/text/bytes';

/** The default for the most bytes of a file that a tool reads or plans. */
const MOST_BYTES = 10 * 1024 * 1024;

/** The only folder that the tools of a pack may touch. */
export interface Root {
  /** Absolute. */
  readonly directory: string;
  /** Holds the folder that contains a path's last name, while `use` runs. `make`: makes missing folders. */
  inParent<T>(
    path: string,
    use: (place: FileLocation) => Promise<T>,
    options?: { make: boolean },
  ): Promise<T>;
  /** Holds a folder itself, while `use` runs. */
  inFolder<T>(path: string, use: (folder: Folder) => Promise<T>): Promise<T>;
  /** As `inFolder`, for work that may change the folder itself: does not check the folder again afterwards. */
  startIn<T>(path: string, use: (folder: Folder) => Promise<T>): Promise<T>;
}

/** A name in a held folder. */
export interface FileLocation {
  folder: Folder;
  name: string;
  /** The path for opening the file; see Folder.at. */
  at: string;
  /** The model's path in normal form, for messages. */
  shown: string;
  names: readonly string[];
  /** Larger files are not read whole. */
  mostBytes: number;
}

/** The options of a root. */
interface RootOptions {
  /** For tests. @default the strongest this system has */
  holding?: FolderAccess;
  /** The most bytes of a file that is read or planned. @default 10 MiB */
  fileBytes?: number;
}

/**
 * Makes the root of a pack. The folder has to exist when the root is used, but not yet when the root is made.
 *
 * @throws CountersignError `config_invalid` for a value that does not name a folder.
 */
export function createRoot(directory: string, { holding, fileBytes = MOST_BYTES }: RootOptions = {}): Root {
  const root = resolve(checkDirectory(directory));
  if (!existsSync(root)) process.emitWarning(`there is no folder ${root}, which tools are to use`);
  const hold = async <T>(names: readonly string[], make: boolean, use: (folder: Folder) => Promise<T>) => {
    const folder = await openFolder({ root, names, make }, holding).catch(failOpen);
    return use(folder).finally(() => folder.close());
  };
  const namesOf = (path: string) => asTheyStand(splitPath(path), (names, use) => hold(names, false, use));
  return {
    directory: root,
    inFolder: (path, use) => explained(path, async () => hold(await namesOf(path), false, verified(use))),
    startIn: (path, use) => explained(path, async () => hold(await namesOf(path), false, use)),
    inParent: (path, use, { make } = { make: false }) =>
      explained(path, async () => {
        const names = await namesOf(path);
        const inPlace = verified((folder) => use(toPlace(folder, names, fileBytes)));
        return hold(names.slice(0, -1), make, inPlace);
      }),
  };
}

/**
 * Names as they stand in their folders. A name that is not there counts as the only one there that has the same Unicode
 * normal form: systems and people write the same letters in different ways.
 */
async function asTheyStand(
  names: readonly string[],
  hold: <T>(names: readonly string[], use: (folder: Folder) => Promise<T>) => Promise<T>,
) {
  const found: string[] = [];
  for (const [at, name] of names.entries()) {
    if (/^[\x00-\x7f]*$/.test(name)) {
      found.push(name);
      continue;
    }
    const there = await hold(found, (folder) => readdir(folder.at('.'))).catch(() => undefined);
    if (there === undefined) return [...found, ...names.slice(at)];
    const alike = there.filter((one) => one.normalize() === name.normalize());
    const [only = name] = alike;
    found.push(alike.length === 1 && !there.includes(name) ? only : name);
  }
  return found;
}

/** What to say of a path that was found in another Unicode normal form than it was asked for. Empty: it was not. */
export function otherForm(asked: string, found: string): string {
  if (splitPath(asked).join('/') === found) return '';
  return `(the name stands there in another Unicode normal form: ${JSON.stringify(found).replace(/[^\x00-\x7f]/g, unitEscapes)})`;
}

/** Checks the name: JavaScript callers may pass anything, and an empty name would mean the worker's current folder. */
function checkDirectory(directory: unknown) {
  if (typeof directory === 'string' && directory !== '' && !directory.includes('\0')) return directory;
  const got = typeof directory === 'string' ? JSON.stringify(directory) : nameOf(directory);
  const hint = "Name the folder that the tools may touch: root: './files'.";
  throw new CountersignError('config_invalid', `root has to name a folder; it is ${got}`, hint);
}

function nameOf(value: unknown) {
  return value === undefined || value === null ? String(value) : `of type ${typeof value}`;
}

/** Does work in a folder, and throws if the folder was swapped meanwhile. */
function verified<T>(use: (folder: Folder) => Promise<T>): (folder: Folder) => Promise<T> {
  return async (folder) => {
    const used = await use(folder);
    await folder.verify().catch(failAfterUse);
    return used;
  };
}

/** The error of a folder that was found to be another one only after the work in it. */
function failAfterUse(cause: unknown): never {
  throw new TransportError(
    'A folder on the way changed while it was used. Whether the work was done, and in which folder, is not known. Look at it before you try again.',
    { cause },
  );
}

/** Explains an error of opening the root itself. Errors of folders below it are explained already. */
function failOpen(error: unknown): never {
  if (error instanceof ToolError || errnoOf(error) === undefined) throw error;
  throw new ToolError(
    `The workspace folder cannot be opened (${errnoOf(error)}). Tell the person who runs this agent.`,
  );
}

async function explained<T>(path: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw explainSystemError(error, path);
  }
}

function toPlace(folder: Folder, names: readonly string[], mostBytes: number): FileLocation {
  const name = names.at(-1);
  if (name === undefined) throw new ToolError('This is the workspace itself; name a file in it.');
  return { folder, name, at: folder.at(name), shown: names.join('/'), names, mostBytes };
}

/** Without O_NONBLOCK, opening a pipe would wait until somebody writes to it. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a regular file without following a link, while `use` runs. */
export async function withRegularFile<T>(
  place: FileLocation,
  use: (handle: FileHandle, facts: Stats) => Promise<T>,
): Promise<T> {
  const handle = await open(place.at, READ).catch((error: unknown) => {
    throw explainSystemError(error, place.shown);
  });
  try {
    const facts = await handle.stat();
    await place.folder.confirm(place.name, facts);
    if (facts.isDirectory()) throw new ToolError(`"${place.shown}" is a folder, not a file.`);
    if (!facts.isFile()) throw new ToolError(`"${place.shown}" is not a regular file.`);
    return await use(handle, facts);
  } finally {
    await handle.close();
  }
}

/** The bytes of a file, and the system's facts about the file. */
interface Content {
  bytes: Buffer;
  facts: Stats;
  /** The path by which the file was found. */
  path: string;
}

/** The bytes of a regular file. @throws ToolError if there is none, or it is too large to be read whole. */
export async function readBytes(place: FileLocation): Promise<Content> {
  return withRegularFile(place, async (handle, facts) => {
    if (facts.size > place.mostBytes) throw tooLarge(place, facts.size);
    return { bytes: await readWhole(handle, place), facts, path: place.shown };
  });
}

const CHUNK = 64 * 1024;

/** Reads a whole file. The limit applies to the bytes that are read, because the file may grow meanwhile. */
async function readWhole(handle: FileHandle, place: FileLocation): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let total = 0; total <= place.mostBytes;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
  }
  throw tooLarge(place, place.mostBytes + 1);
}

/** The bytes of a regular file, or null if nothing has this name, or its folder does not exist. */
export async function readBytesIfThere(root: Root, path: string): Promise<Content | null> {
  return orIfMissing(root.inParent(path, readBytes), null);
}

function tooLarge({ shown, mostBytes }: FileLocation, size: number) {
  return new ToolError(
    `"${shown}" has ${size} bytes; files over ${mostBytes} bytes are not read or changed.`,
  );
}

/** The settings that all tools of one pack share. They are spread into each definition. */
export interface Pack {
  categories: readonly string[];
  /** The queue of the worker that has the files. */
  taskQueue?: string;
}
