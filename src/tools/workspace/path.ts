import { sep } from 'node:path';
import { ToolError } from '../errors';
import { errnoOf } from '../../contract/errors';
import { isWellFormed, unitEscapes } from '../../contract/text/bytes';
import { foldCase, namesIn } from '../../contract/text/spelling';

/** The most bytes of a path, as on Linux. */
const MOST_BYTES = 4096;

/** The most names in a path. Each folder has to be opened, and nobody nests more folders. */
const MOST_NAMES = 100;

/**
 * Splits a model's path into names below the root. Nothing is decoded or expanded: `%2e`, `~` and `$HOME` are ordinary
 * names.
 *
 * @throws ToolError for a path that is absolute, goes up, is too long, or has a character that no file name can have.
 */
export function splitPath(given: string): string[] {
  if (given.includes('\0')) throw new ToolError('A path cannot hold a NUL byte.');
  // The system would get another character than people saw.
  if (!isWellFormed(given)) throw new ToolError('A path cannot hold half a character (a lone surrogate).');
  if (Buffer.byteLength(given) > MOST_BYTES) throw new ToolError('The path is too long.');
  const path = given.replaceAll(sep, '/');
  if (path.startsWith('/')) throw outside(path, 'it is absolute; give it relative to the workspace root');
  const names = namesIn(path);
  if (names.includes('..')) throw outside(path, 'it goes up with ".."');
  if (names.length > MOST_NAMES) throw new ToolError('The path leads through too many folders.');
  return names;
}

/** The path in the form that every tool writes: relative, with single `/`; `.` for the root. */
export function normalPath(path: string): string {
  return splitPath(path).join('/') || '.';
}

/** Characters that end a line, change its direction, or are invisible. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The beginnings and ends of quoted paths and of our notes. A path that begins or ends like this is quoted. */
const OURS = /^[\s"(]|[\s)]$/u;

/**
 * A path on one line. A path that could look like several lines, or like a note of ours such as `x (link)`, is written
 * as a JSON string, which can be parsed back into the path.
 */
export function onOneLine(path: string): string {
  if (path.search(HIDDEN) === -1 && !OURS.test(path)) return path;
  return JSON.stringify(path).replace(HIDDEN, unitEscapes);
}

function outside(path: string, why: string) {
  return new ToolError(`"${path.slice(0, 200)}" is outside the workspace: ${why}.`);
}

/** Characters that some file systems ignore when they compare names. */
const IGNORED =
  /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]/g;

/**
 * Protected names, each with the danger of a write and the alternative. Names are folded. Each name is protected at any
 * depth, as a file and as a folder.
 */
const KINDS: readonly (readonly [why: string, names: readonly string[]])[] = [
  ['it could run code later. Use git itself', ['.git', '.gitconfig', '.githooks', '.husky', '.hg', '.hgrc']],
  ['it is a file that the tools keep for a moment. A person has to move it', ['.countersign-*']],
  ['it holds the record of what ran', ['.countersign']],
  [
    'it says what agents may do. A person has to change it',
    ['countersign.mcp.lock', '.mcp.json', '.claude', '.cursor'],
  ],
  [
    'it says who decides, or where people are asked. A person has to change it',
    ['approvers.yaml', 'notify.yaml'],
  ],
  [
    'it holds keys, and variables that run code. A person has to change it',
    ['.env', '.envrc', '.direnv', '.ssh'],
  ],
  [
    'an editor runs what it says. A person has to change it',
    [
      ...[
        '.vscode',
        '.idea',
        '.fleet',
        '.zed',
        '.vs',
        '.devcontainer',
        '.devcontainer.json',
        '.vimrc',
        '.gvimrc',
      ],
      ...['.exrc', '.nvimrc', '.nvim.lua', '.emacs', '.emacs.d', '.dir-locals.el', '.gdbinit', '.lldbinit'],
    ],
  ],
  [
    'a package manager or a build runs what it says. A person has to change it',
    ['.npmrc', '.yarn', '.yarnrc', '.yarnrc.yml', '.pnpmfile.cjs', '.cargo', '.bazelrc'],
  ],
  [
    'a shell runs it. A person has to change it',
    [
      ...['.profile', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.inputrc'],
      ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.login'],
      ...['.logout', '.xinitrc', '.xprofile', '.xsession', '.xsessionrc'],
    ],
  ],
];

/** The reason why a name is protected, by name. */
const PROTECTED: ReadonlyMap<string, string> = new Map(
  KINDS.flatMap(([why, names]) => names.flatMap((name) => [name, shortName(name)].map((one) => [one, why]))),
);

/** Families of protected names, by the beginning of a name: `.env.local`, `countersign.config.ts`. */
const FAMILIES: readonly (readonly [start: string, like: string])[] = [
  ['.env.', '.env'],
  ['countersign.config.', 'countersign.mcp.lock'],
  ['.countersign-', '.countersign-*'],
];

/** The short name that some file systems also accept for a name that begins with a dot: `git~1`. */
function shortName(name: string) {
  return `${name.replaceAll('.', '').slice(0, 6)}~1`;
}

/**
 * Refuses a path with a protected name, at any depth and in any spelling that a file system may accept, whether or not
 * the name exists. A write there could run code later, give access to secrets, or change what agents may do.
 */
export function assertWritable(names: readonly string[]): void {
  for (const name of names) {
    const folded = fold(name);
    const like = FAMILIES.find(([start]) => folded.startsWith(start))?.[1] ?? folded;
    const why = PROTECTED.get(like);
    if (why !== undefined) throw new ToolError(`${onOneLine(name)} is not written by tools: ${why}.`);
  }
}

/**
 * A name in lower case under NFKC, without the parts that some systems ignore: a stream (`name:stream`), final dots,
 * blanks.
 */
function fold(name: string) {
  const plain = foldCase(name.replace(IGNORED, '').normalize('NFKC'));
  return plain.replace(/:.*$/s, '').replace(/[ .]+$/, '');
}

/** The error codes of the system, in words for the model. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist. Look at the folder with list_directory',
  ELOOP: 'is a link; links are not followed. Name the file itself',
  EMLINK: 'is a link; links are not followed. Name the file itself',
  ENOTDIR: 'leads through something that is not a folder, or is a link; links are not followed',
  EISDIR: 'is a folder, not a file',
  ENXIO: 'is not a regular file',
  EACCES: 'may not be used by this process (permission denied)',
  EPERM: 'may not be used by this process (permission denied)',
  ENAMETOOLONG: 'is too long for a path',
  EEXIST: 'exists already',
  ENOSPC: 'could not be written: the disk is full',
  EROFS: 'could not be written: the file system is read-only',
  EBUSY: 'could not be replaced: something is mounted there, or it is in use. Nothing was changed',
  EXDEV: 'could not be replaced: something is mounted there. Nothing was changed',
};

/**
 * Turns an error of the system into an error that the model can act on and that has no path of this machine. Returns
 * any other error unchanged.
 */
export function explainSystemError(error: unknown, shown: string): unknown {
  const code = errnoOf(error);
  if (error instanceof ToolError || code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const words = EXPLANATIONS[code] ?? `could not be used (${code})`;
  return new ToolError(`"${shown.slice(0, 200)}" ${words}.`, { cause: error });
}

/** The value of a promise, or `instead` if the promise rejects because something does not exist. */
export async function orIfMissing<T, U>(promise: Promise<T>, instead: U): Promise<T | U> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof ToolError && errnoOf(error.cause) === 'ENOENT') return instead;
    throw error;
  }
}
