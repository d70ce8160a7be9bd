import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../contract/errors';
import type { ProjectFile } from './template';

/** What an otherwise empty directory may hold. */
const HARMLESS = ['.git', '.DS_Store'];

/**
 * Makes sure that a directory is empty or not there yet.
 *
 * @throws CountersignError `usage` naming what is in it.
 */
export async function assertEmpty(directory: string, shown: string): Promise<void> {
  const names = await namesIn(directory, shown);
  const there = names.filter((name) => !HARMLESS.includes(name)).sort();
  if (there.length === 0) return;
  const some = there.slice(0, 3).join(', ') + (there.length > 3 ? ', …' : '');
  throw new CountersignError('usage', `${shown} is not empty: it has ${some}`, {
    hint: 'Name a new directory, such as `countersign init my-agent`. Nothing is ever overwritten.',
    data: { there },
  });
}

async function namesIn(directory: string, shown: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw cannot(`use ${shown}`, error);
  }
}

/**
 * Writes files that are not there yet.
 *
 * @throws CountersignError `usage` naming the file and what the system said; files that were written stay.
 */
export async function writeFiles(directory: string, files: readonly ProjectFile[]): Promise<void> {
  for (const { path, text } of files) {
    try {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text, { flag: 'wx' });
    } catch (error) {
      throw cannot(`write ${join(directory, path)}`, error);
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'nothing can be written there',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your quota is used up',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is there already',
};

function cannot(what: string, cause: unknown): CountersignError {
  const code = codeOf(cause);
  const why = REASONS[code] ?? (cause instanceof Error ? cause.message : code);
  const hint = 'Choose another directory, or make room and start again.';
  return new CountersignError('usage', `cannot ${what}: ${why}`, { hint, cause });
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
