import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { CountersignError } from '../contract/errors';

const MOST_BYTES = 64 * 1024;

/**
 * The text of a key file, if only its owner can read it.
 *
 * @throws CountersignError `encryption_invalid` for a file that is missing, too big, not ours, or open to others.
 */
export function readKeyFile(path: string): string {
  const file = open(path);
  try {
    // Asked of the open file: the path may name another one a moment later.
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refuse(path, 'is no file');
    if (stat.size > MOST_BYTES) throw refuse(path, 'is over 64 KiB');
    if (isOpenToOthers(stat)) throw refuse(path, 'can be read by others', `Run: chmod 600 ${path}`);
    if (!isOurs(stat.uid)) throw refuse(path, 'belongs to another user');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function open(path: string): number {
  try {
    // Without O_NONBLOCK a pipe of that name would hold us up for ever.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw refuse(path, 'cannot be opened', 'Check COUNTERSIGN_ENCRYPTION_KEY_FILE.', cause);
  }
}

/** Windows has no such modes: there the folder's own rights have to keep it. */
function isOpenToOthers({ mode }: { mode: number }): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0;
}

function isOurs(uid: number): boolean {
  const own = process.getuid?.();
  return own === undefined || own === 0 || uid === own || uid === 0;
}

function refuse(path: string, why: string, ...[hint, cause]: [hint?: string, cause?: unknown]) {
  return new CountersignError('encryption_invalid', `the key file ${path} ${why}`, {
    hint: hint ?? 'Keep the keys in a file of your own that only you can read (chmod 600).',
    cause,
  });
}
