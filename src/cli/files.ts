import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { CountersignError } from '../contract/errors';
import { errnoOf } from '../engine/run';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EEXIST: 'it is there already',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is a file',
  EACCES: 'you may not do that there',
  EPERM: 'you may not do that there',
  EROFS: 'nothing can be written there',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your quota is used up',
  EFBIG: 'the file would be too large',
};

/** What failed with a file that a person named, as `file_failed`; any other error as it is. */
export function toFileError(error: unknown, doing: string): unknown {
  const code = errnoOf(error);
  if (error instanceof CountersignError || code === undefined) return error;
  const why = REASONS[code] ?? code;
  return new CountersignError('file_failed', `${doing} failed: ${why}`, {
    cause: error,
    data: { errno: code },
  });
}

/** Does something with a file. `doing` is told when it fails: `writing audit.jsonl`. Errors: `file_failed`. */
export async function withFile<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFileError(error, doing);
  }
}

/** The text of a file. Errors: `file_failed`. */
export function readTextFile(path: string): Promise<string> {
  return withFile(`reading ${path}`, () => readFile(path, 'utf8'));
}

/** Writes a file that was not there; only its owner may read it unless `mode` says otherwise. Errors: `file_failed`. */
export function writeNewFile(path: string, text: string, mode = 0o600): Promise<void> {
  return withFile(`writing ${path}`, () => writeFile(path, text, { flag: 'wx', mode }));
}

/** The bytes of a file, in big pieces. */
export function chunksOf(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: 1024 * 1024 });
}
