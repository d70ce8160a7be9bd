import { readFile, writeFile } from 'node:fs/promises';
import { CountersignError, errnoOf } from '../contract/errors';
import { systemReason } from '../contract/text/system-errors';

/** Turns a failure with a file that a person named into `file_failed`. Any other error is returned as it is. */
export function toFileError(error: unknown, doing: string): unknown {
  const errno = errnoOf(error);
  if (error instanceof CountersignError || errno === undefined) return error;
  const why = systemReason(error) ?? errno;
  return new CountersignError('file_failed', `${doing} failed: ${why}`, { cause: error, data: { errno } });
}

/**
 * Works with a file. `doing` begins the message of a failure: `writing audit.jsonl`.
 *
 * @throws CountersignError `file_failed`.
 */
export async function withFileErrors<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFileError(error, doing);
  }
}

/**
 * The text of a file.
 *
 * @throws CountersignError `file_failed`.
 */
export function readTextFile(path: string): Promise<string> {
  return withFileErrors(`reading ${path}`, () => readFile(path, 'utf8'));
}

/**
 * Writes a new file. Only its owner may read it, unless `mode` says otherwise.
 *
 * @throws CountersignError `file_failed`, also if the file exists.
 */
export function writeNewFile(path: string, text: string, mode = 0o600): Promise<void> {
  return withFileErrors(`writing ${path}`, () => writeFile(path, text, { flag: 'wx', mode }));
}
