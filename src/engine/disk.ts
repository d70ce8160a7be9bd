import { statfsSync } from 'node:fs';
import { CountersignError } from '../contract/errors';
import { errnoOf } from './run';

/** A server that was never started needs about this much; below it nothing that fails is told apart from a full disk. */
const NEEDED_BYTES = 8 * 1024 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'your quota is used up',
  EROFS: 'nothing can be written there',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  ENOTDIR: 'a part of the path is a file',
};

/** What could not be written as an error for a person; any other error as it is. */
export const toDiskError = (error: unknown, directory: string): unknown => {
  const reason = REASONS[errnoOf(error) ?? ''];
  return reason === undefined ? error : cannotWrite(directory, reason, error);
};

/** The error of a server that died where there is no room; undefined where there is. */
export const fullDisk = (directory: string): CountersignError | undefined =>
  bytesFree(directory) < NEEDED_BYTES ? cannotWrite(directory, 'the disk is full') : undefined;

const bytesFree = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
};

const cannotWrite = (directory: string, reason: string, cause?: unknown): CountersignError =>
  new CountersignError('server_failed', `the server's data cannot be kept in ${directory}: ${reason}`, {
    hint: 'Make room there, or choose another folder with --data-dir, and start again. No data was lost.',
    data: { directory },
    cause,
  });
