import { errnoOf } from '../errors';

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

/** Why the system refused to work with a file, in words. Undefined for any other error. */
export function systemReason(error: unknown): string | undefined {
  return REASONS[errnoOf(error) ?? ''];
}
