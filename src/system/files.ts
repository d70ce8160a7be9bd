import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { link, mkdir, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { errnoOf, errorMessage } from '../contract/errors';

/**
 * The folder in which our programs keep this user's state: `$XDG_STATE_HOME/countersign`, or
 * `~/.local/state/countersign`.
 */
export function userStateDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'countersign');
}

/**
 * The folder for what our programs can make again: `$XDG_CACHE_HOME/countersign`, or a folder in the system's own place
 * for caches.
 */
export function userCacheDir(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const home = env['HOME'] || homedir();
  const fallback = platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
  return join(env['XDG_CACHE_HOME'] || fallback, 'countersign');
}

/** Makes the folder of a file, for this user only, if it is not there. */
export async function makeFolderOf(file: string): Promise<void> {
  await makeFolder(dirname(file));
}

/**
 * Makes a folder for this user only, and the folders above it. Their names are durable once this resolves. Node's own
 * recursive `mkdir` is not used, because it says ENOENT if the file system is read-only.
 */
export async function makeFolder(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: 0o700 });
  try {
    await make().catch(async (error: unknown) => {
      if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
      await makeFolder(dirname(path));
      await make();
    });
    await syncFolder(dirname(path));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  }
}

/** The result of a read, or undefined if the file does not exist. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The text of a file. Undefined if the file does not exist. */
export function readIfThere(path: string): Promise<string | undefined> {
  return unlessMissing(readFile(path, 'utf8'));
}

/** Makes the names in a folder durable. Without this, a crash of the machine could lose a new or renamed file. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder.
  if (process.platform === 'win32') return;
  await withHandle(await open(path, 'r'), flushFolder);
}

/** What a file system answers that cannot flush a folder. PostgreSQL goes on then, too. */
const CANNOT_FLUSH: readonly (string | undefined)[] = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Flushes the names in an open folder to disk, if its file system can do that. */
export async function flushFolder(folder: Pick<FileHandle, 'sync'>): Promise<void> {
  try {
    await folder.sync();
  } catch (error) {
    if (!CANNOT_FLUSH.includes(errnoOf(error))) throw error;
  }
}

/**
 * Replaces a file. Readers see the whole old content or the whole new content, even after a crash. Once this resolves,
 * the new content survives a crash of the machine.
 *
 * @param content The whole text, or a function that writes it.
 * @param mode The permissions of the file. By default only the owner has access.
 */
export function replaceFile(
  path: string,
  content: string | ((draft: FileHandle) => Promise<void>),
  mode = 0o600,
): Promise<void> {
  return throughDraft(path, { content, mode }, (draft) => rename(draft, path));
}

/**
 * Creates a file that only its owner can access. Rejects with `EEXIST` if the file exists already. A reader sees the
 * whole content or no file, even if several processes create it at the same time. The file is durable once this
 * resolves.
 */
export function createWhole(path: string, content: string): Promise<void> {
  return throughDraft(path, { content, mode: 0o600 }, async (draft) => {
    await link(draft, path);
    await rm(draft);
  });
}

/** Writes a draft beside a file, then puts the draft in the place of the file by one operation of the file system. */
async function throughDraft(
  path: string,
  { content, mode }: { content: string | ((draft: FileHandle) => Promise<void>); mode: number },
  place: (draft: string) => Promise<void>,
) {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await withHandle(await open(draft, 'wx', mode), async (file) => {
      await (typeof content === 'string' ? file.writeFile(content) : content(file));
      await file.sync();
    });
    await place(draft);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/**
 * Creates a file with one line. Rejects with `EEXIST` if the file exists already. The file is durable once this
 * resolves.
 */
export async function createWithLine(path: string, line: string): Promise<void> {
  await writeLine(path, line, constants.O_CREAT | constants.O_EXCL);
  await syncFolder(dirname(path));
}

/** Appends a line to an existing file. The line is durable once this resolves. */
export function appendLine(path: string, line: string): Promise<void> {
  return writeLine(path, line, 0);
}

async function writeLine(path: string, line: string, flags: number) {
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND | flags, 0o600);
  await withHandle(file, async () => {
    await file.writeFile(`${line}\n`);
    await file.sync();
  });
}

async function withHandle<T>(handle: FileHandle, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Why a file is not private to its owner. */
export type PrivateFault =
  'missing' | 'unreadable' | 'not_a_file' | 'too_large' | 'not_yours' | 'open_to_others';

/** The refusal of a private file. There is a cause if the file is missing or unreadable. */
interface PrivateRefusal {
  fault: PrivateFault;
  cause?: unknown;
}

/** The text of a private file, or why it is refused. */
type PrivateText = { text: string } | PrivateRefusal;

const FAULTS: Readonly<Record<PrivateFault, string>> = {
  missing: 'does not exist',
  unreadable: 'cannot be read',
  not_a_file: 'is not a file',
  too_large: 'is over 64 KiB',
  not_yours: 'belongs to another user',
  open_to_others: 'can be read or changed by others',
};

/** Why a private file is refused that was read with the default limit: words that follow the file's name, or "it". */
export function privateFaultText({ fault, cause }: PrivateRefusal): string {
  return fault === 'unreadable' ? `${FAULTS[fault]}: ${errorMessage(cause)}` : FAULTS[fault];
}

/** How strict the check of a private file is. */
interface PrivateOptions {
  /** The most bytes of the file. @default 65536 */
  limit?: number;
  /** Refuses links. For root it also refuses files of other users. @default false */
  strict?: boolean;
}

const PRIVATE_BYTES = 64 * 1024;
/** The permission bits of everybody but the owner. */
const OTHERS = 0o077;

/**
 * Reads a file that only its owner may read or write. The check is on the open file, so nobody can replace the file in
 * between.
 */
export function readPrivateFile(path: string, options: PrivateOptions = {}): PrivateText {
  const { limit = PRIVATE_BYTES, strict = false } = options;
  // Without O_NONBLOCK, a pipe with that name would block us until somebody writes to it.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (strict ? constants.O_NOFOLLOW : 0);
  let file: number | undefined;
  try {
    file = openSync(path, flags);
    const facts = fstatSync(file);
    if (!facts.isFile()) return { fault: 'not_a_file' };
    if (facts.size > limit) return { fault: 'too_large' };
    if (!isOurs(facts.uid, strict)) return { fault: 'not_yours' };
    // Windows does not have such permission bits. There the permissions of the folder have to protect the file.
    if (process.platform !== 'win32' && (facts.mode & OTHERS) !== 0) return { fault: 'open_to_others' };
    return { text: readFileSync(file, 'utf8') };
  } catch (cause) {
    return { fault: errnoOf(cause) === 'ENOENT' ? 'missing' : 'unreadable', cause };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function isOurs(uid: number, strict: boolean) {
  const own = process.getuid?.();
  if (own === undefined || uid === own) return true;
  return !strict && (own === 0 || uid === 0);
}
