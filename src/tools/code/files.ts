import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { FOLDER_ACCESS } from '../workspace/folder';
import { onOneLine } from '../workspace/path';

/** The largest file that is read. Larger files are generated. The types of a library can have some five MiB. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The files that TypeScript reads: sources, and the JSON of configs, packages and imports. */
const READABLE = /\.(?:[cm]?[jt]sx?|json)$/i;

/** Folders that hold records and secrets, never sources. */
const CLOSED = /(?:^|\/)\.(?:git|countersign|ssh)(?:\/|$)/i;

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The files that TypeScript may read: files below one folder, and the files of TypeScript itself. Paths are absolute,
 * with `/`.
 */
export interface ProjectFiles {
  /** The folder, without links. */
  readonly root: string;
  /** Files that are too large to be read; their text is empty. */
  tooLarge(): string[];
  /** Empties the caches, so that the next question sees the current files. */
  refresh(): void;
  /** The text of a file. Undefined if the file does not exist or may not be read. */
  read(path: string): string | undefined;
  /** A text that differs after each change of the file; empty if the file does not exist or may not be read. */
  version(path: string): string;
  isFile(path: string): boolean;
  isFolder(path: string): boolean;
  list(path: string): { files: string[]; directories: string[] };
  /** The path behind links. The same path if the links lead to nothing that may be read. */
  realPath(path: string): string;
  isBelowRoot(path: string): boolean;
  /** A path for people and models, on one line: relative to the root, without the other folders of this machine. */
  shown(path: string): string;
  /** A text of TypeScript without the folders of this machine: it writes absolute paths into types and messages. */
  withoutFolders(text: string): string;
}

/** Resolves links before anything else: a link that leads out of the root counts as a missing file. */
export function createFiles(folder: string, ownFolder: string): ProjectFiles {
  const root = realpathSync(folder);
  const allowed = [root, realpathSync(ownFolder)];
  const passed = new Set<string>();
  const folders = new Map<string, string | undefined>();
  const facts = new Map<string, Found | undefined>();
  const isAllowed = (real: string): boolean =>
    allowed.some((one) => isBelow(real, one)) && !CLOSED.test(real.slice(root.length));
  /** The path without links. Undefined if it may not be read. */
  const realOf = (path: string): string | undefined => {
    if (path === '' || path.includes('\0')) return undefined;
    if (!folders.has(path))
      folders.set(
        path,
        unlessFails(() => realpathSync(path)),
      );
    const real = folders.get(path);
    return real !== undefined && isAllowed(real) ? real : undefined;
  };
  const find = (path: string): Found | undefined => {
    if (!facts.has(path)) facts.set(path, look(path, realOf));
    return facts.get(path);
  };
  return {
    root,
    refresh: () => [folders, facts].forEach((known) => known.clear()),
    tooLarge: () => [...passed].filter((path) => find(path) !== undefined).sort(),
    read: (path) => {
      const found = READABLE.test(path) ? find(path) : undefined;
      if (found?.stats.isFile() !== true) return undefined;
      passed.delete(path);
      if (found.stats.size > MOST_BYTES) {
        passed.add(path);
        return '';
      }
      return unlessFails(() => readText(found.real));
    },
    version: (path) => {
      const stats = find(path)?.stats;
      return stats === undefined ? '' : `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
    },
    isFile: (path) => READABLE.test(path) && find(path)?.stats.isFile() === true,
    isFolder: (path) => find(path)?.stats.isDirectory() === true,
    list: (path) => listFolder(realOf(path), path, find),
    realPath: (path) => find(path)?.real ?? path,
    isBelowRoot: (path) => isBelow(path, root),
    shown: (path) =>
      onOneLine(isBelow(path, root) ? relative(root, path) || '.' : `typescript/${basename(path)}`),
    withoutFolders: (text) => text.replaceAll(`${root}/`, '').replaceAll(ownFolder, 'typescript'),
  };
}

/** A file or folder that may be read, and its path without links. */
interface Found {
  real: string;
  stats: Stats;
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Undefined if the system refuses: for TypeScript such a file does not exist. */
function unlessFails<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

function look(path: string, realOf: (path: string) => string | undefined): Found | undefined {
  const parent = realOf(dirname(path));
  const name = basename(path);
  // The folder around the root may not be read, and `..` is not a name in a folder.
  const isName = parent !== undefined && name !== '' && name !== '.' && name !== '..';
  const plain = isName ? join(parent, name) : realOf(path);
  const stats = plain === undefined ? undefined : unlessFails(() => lstatSync(plain));
  if (plain === undefined || stats === undefined) return undefined;
  if (!stats.isSymbolicLink()) return isName && CLOSED.test(name) ? undefined : { real: plain, stats };
  const real = realOf(path);
  const behind = real === undefined ? undefined : unlessFails(() => statSync(real));
  if (real === undefined || behind === undefined) return undefined;
  // A link with the name of a source may lead to a file that is not a source.
  return behind.isDirectory() || READABLE.test(real) ? { real, stats: behind } : undefined;
}

function listFolder(
  real: string | undefined,
  path: string,
  find: (path: string) => Found | undefined,
): { files: string[]; directories: string[] } {
  const entries =
    real === undefined ? [] : (unlessFails(() => readdirSync(real, { withFileTypes: true })) ?? []);
  const files: string[] = [];
  const directories: string[] = [];
  for (const entry of entries) {
    const kind = entry.isSymbolicLink() ? find(join(path, entry.name))?.stats : entry;
    if (kind?.isFile() === true && READABLE.test(entry.name)) files.push(entry.name);
    if (kind?.isDirectory() === true && !CLOSED.test(entry.name)) directories.push(entry.name);
  }
  return { files: files.sort(), directories: directories.sort() };
}

/** Opens the file first and compares its path afterwards, to notice a link put in between. @throws on another file. */
function readText(real: string): string {
  const handle = openSync(real, READ);
  try {
    const isOther = FOLDER_ACCESS === 'descriptors' && readlinkSync(`/proc/self/fd/${handle}`) !== real;
    const stats = fstatSync(handle);
    if (isOther || !stats.isFile() || stats.size > MOST_BYTES) throw new Error('the file changed meanwhile');
    return decode(readFileSync(handle));
  } finally {
    closeSync(handle);
  }
}

function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return bytes.toString(isUtf16 ? 'utf16le' : 'utf8').replace(/^\ufeff/, '');
}
