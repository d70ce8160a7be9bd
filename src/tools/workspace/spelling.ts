import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Spelling } from '../types';
import { normalPath } from './path';

/** The arguments that are paths below the root. */
const PATHS: readonly string[] = ['path', 'from', 'to', 'cwd'];

/** The spelling of the tools of one folder: `prod/x` for `./prod//x`. */
export function pathSpelling(directory: string): Spelling {
  return {
    foldsCase: () => foldsCase(directory),
    spell: (args) => {
      const spelled = Object.entries(args).map(([name, value]) => {
        const isPath = PATHS.includes(name) && typeof value === 'string';
        return [name, isPath ? spellPath(value) : value] as const;
      });
      return Object.fromEntries(spelled);
    },
  };
}

function spellPath(path: string) {
  try {
    return normalPath(path);
  } catch {
    return path;
  }
}

/**
 * Whether the file system takes names in upper and lower case for the same. Asks it about a name in the folder or, if
 * there is none, about the folder. Never rejects.
 */
export async function foldsCase(
  directory: string,
  files: {
    readdir(path: string): Promise<string[]>;
    stat(path: string): Promise<Pick<Stats, 'dev' | 'ino'>>;
  } = { readdir, stat },
): Promise<boolean> {
  try {
    const name = (await files.readdir(directory)).find((one) => swapCase(one) !== one);
    const path = name === undefined ? directory : join(directory, name);
    const other = join(dirname(path), swapCase(basename(path)));
    const [one, two] = await Promise.all([files.stat(path), files.stat(other)]);
    return other !== path && one.dev === two.dev && one.ino === two.ino;
  } catch {
    return false;
  }
}

function swapCase(name: string) {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
}
