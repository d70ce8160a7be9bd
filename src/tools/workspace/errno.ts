import { isObject } from '../../contract/json';
import { ToolError } from '../errors';

/** The system's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = isObject(error) || error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Codes that the system gives, in words for the model. */
const WORDS: Readonly<Record<string, string>> = {
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
  const code = codeOf(error);
  if (error instanceof ToolError || code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const words = WORDS[code] ?? `could not be used (${code})`;
  return new ToolError(`"${shown.slice(0, 200)}" ${words}.`, { cause: error });
}

/** Whether this says that something does not exist, and nothing else. */
export function isMissing(error: unknown): boolean {
  return error instanceof ToolError && codeOf(error.cause) === 'ENOENT';
}
