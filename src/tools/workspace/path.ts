import { ToolError } from '../errors';
import { errnoOf } from '../../contract/errors';

/** As long as Linux takes. */
const MOST_BYTES = 4096;

/** Nobody nests more folders than this; each would have to be opened. */
const MOST_NAMES = 100;

/**
 * Splits a path of a model into names below the root. Nothing is decoded or expanded: `%2e`, `~` and `$HOME` are names
 * like any other.
 *
 * @throws ToolError for a path that is absolute, goes up, or holds what no file name can hold.
 */
export function splitPath(path: string): string[] {
  if (path.includes('\0')) throw new ToolError('A path cannot hold a NUL byte.');
  if (hasLoneSurrogate(path)) throw new ToolError('A path cannot hold half a character (a lone surrogate).');
  if (Buffer.byteLength(path) > MOST_BYTES) throw new ToolError('The path is too long.');
  if (path.startsWith('/')) throw outside(path, 'it is absolute; give it relative to the workspace root');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw outside(path, 'it goes up with ".."');
  if (names.length > MOST_NAMES) throw new ToolError('The path leads through too many folders.');
  return names;
}

/** Whether a text holds half a character: the system would get another one than was shown. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Cs}/u.test(text);
}

/** The same path as every tool writes it: relative, with single `/`; `.` for the root. */
export function normalPath(path: string): string {
  return splitPath(path).join('/') || '.';
}

/** What ends a line, moves it, or does not show. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** How entries of our own and their notes look: no name may begin or end like one. */
const OURS = /^[\s"(]|[\s)]$/u;

/**
 * A path on one line. One that could pass for more than one line, or for a note of ours such as `x (link)`, is written as
 * a JSON string, which can be given back as a path.
 */
export function onOneLine(path: string): string {
  if (path.search(HIDDEN) === -1 && !OURS.test(path)) return path;
  return JSON.stringify(path).replace(HIDDEN, escapeUnits);
}

function escapeUnits(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}

function outside(path: string, why: string): ToolError {
  return new ToolError(`"${path.slice(0, 200)}" is outside the workspace: ${why}.`);
}

/** Characters that some file systems leave out when they compare names. */
const IGNORED =
  /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]/g;

/** What a write to these names comes to, and what else to do. Names are folded; each counts at any depth, as a file or a folder. */
const KINDS: readonly (readonly [why: string, names: readonly string[]])[] = [
  ['it could run code later. Use git itself', ['.git', '.gitconfig', '.githooks', '.husky', '.hg', '.hgrc']],
  ['it holds the record of what ran', ['.countersign']],
  [
    'it says what agents may do. A person has to change it',
    ['countersign.mcp.lock', '.mcp.json', '.claude', '.cursor'],
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

/** Why a name is protected. */
const PROTECTED: ReadonlyMap<string, string> = new Map(
  KINDS.flatMap(([why, names]) => names.flatMap((name) => [name, shortName(name)].map((one) => [one, why]))),
);

/** Whole families of names, by the start of a name: `.env.local`, `countersign.config.ts`. */
const FAMILIES: readonly (readonly [start: string, like: string])[] = [
  ['.env.', '.env'],
  ['countersign.config.', 'countersign.mcp.lock'],
];

/** What some file systems also take for a name that begins with a dot: `git~1`. */
function shortName(name: string): string {
  return `${name.replaceAll('.', '').slice(0, 6)}~1`;
}

/**
 * Refuses to write below a protected name, at any depth and in any spelling that a file system may take for it, whether
 * or not it exists: a write there runs code later, opens a way out, or undoes what keeps the promise.
 */
export function assertWritable(names: readonly string[]): void {
  for (const name of names) {
    const folded = fold(name);
    const like = FAMILIES.find(([start]) => folded.startsWith(start))?.[1] ?? folded;
    const why = PROTECTED.get(like);
    if (why !== undefined) throw new ToolError(`${onOneLine(name)} is not written by tools: ${why}.`);
  }
}

/** Letters without case under NFKC; a stream (`name:stream`), dots and blanks at the end do not count on some systems. */
function fold(name: string): string {
  const plain = name.replace(IGNORED, '').normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  return plain.replace(/:.*$/s, '').replace(/[ .]+$/, '');
}

/** Codes that the system gives, in words for the model. */
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
};

/**
 * What the system refused, as an error that the model can act on and that holds no path of this machine. Anything that
 * does not come from the system is given back as it is.
 */
export function explain(error: unknown, shown: string): unknown {
  const code = errnoOf(error);
  if (error instanceof ToolError || code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const words = EXPLANATIONS[code] ?? `could not be used (${code})`;
  return new ToolError(`"${shown.slice(0, 200)}" ${words}.`, { cause: error });
}

/** What a promise gives, or `instead` where it fails because something does not exist. */
export async function unlessMissing<T, U>(promise: Promise<T>, instead: U): Promise<T | U> {
  try {
    return await promise;
  } catch (error) {
    if (isMissing(error)) return instead;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ToolError && errnoOf(error.cause) === 'ENOENT';
}
