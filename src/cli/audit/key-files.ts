import type { KeyObject } from 'node:crypto';
import { CountersignError } from '../../contract/errors';
import { readKeyFile } from '../../encryption/key-file';
import { readPrivateKey, readPublicKey } from '../../history/audit/keys';
import { readTextFile } from '../files';

/** Where the signing key is unless it is named. */
export const KEY_FILE = 'countersign-audit.key';
/** Names it for a whole environment. */
export const KEY_VARIABLE = 'COUNTERSIGN_AUDIT_KEY_FILE';

/** The key that signs audit files. Errors: `audit_key`, also for a file that others can read. */
export function readSigningKey(named: string | undefined, env: NodeJS.ProcessEnv): KeyObject {
  const path = named ?? (env[KEY_VARIABLE] || KEY_FILE);
  return readPrivateKey(readGuarded(path), path);
}

function readGuarded(path: string): string {
  try {
    return readKeyFile(path);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    const hint = error.message.endsWith('cannot be opened')
      ? 'countersign keys makes one; name another with --key'
      : `The signing key has to be a file of your own that only you can read: chmod 600 ${path}`;
    throw new CountersignError('audit_key', error.message, { hint, cause: error });
  }
}

/** The id of a public key that was given as a file or as its 64 hex digits. Errors: `audit_key`, `file_failed`. */
export async function readPinnedKey(given: string): Promise<string> {
  const isId = /^[0-9a-f]{64}$/i.test(given);
  return readPublicKey(isId ? given : await readTextFile(given), given);
}
