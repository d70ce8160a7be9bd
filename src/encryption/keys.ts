import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { CountersignError } from '../contract/errors';

/** One key of a ring. */
export interface Key {
  /** Named in every payload that it encrypts; never secret. */
  id: string;
  secret: KeyObject;
  /** Tells two keys of one id apart, and nothing of the key. */
  check: string;
}

const KEY_BYTES = 32;
const ID = /^[\w.-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;
const HINT =
  'Write <id>:<32 bytes in base64>, newest first, one a line or with commas between; `openssl rand -base64 32` makes one.';

/**
 * Reads keys from text: `<id>:<base64 of 32 bytes>`, one a line or with commas between; `#` starts a comment line.
 * The first one encrypts.
 *
 * @param source where the text is from, for messages; the text itself is never in one.
 * @throws CountersignError `encryption_invalid`.
 */
export function parseKeys(text: string, source: string): Key[] {
  const entries = text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const keys = entries.map((entry, index) => parseKey(entry, `key ${index + 1} of ${source}`));
  assertDifferent(keys, source);
  return keys;
}

function parseKey(entry: string, which: string): Key {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, Math.max(0, colon)).trim();
  const encoded = entry.slice(colon + 1).trim();
  if (!ID.test(id))
    throw invalid(`${which} has no id of 1 to 64 letters, digits, dots, dashes or underscores`);
  if (!BASE64.test(encoded)) throw invalid(`${which} is not 32 bytes in base64`);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.every((byte) => byte === bytes[0]))
    throw invalid(`${which} is not 32 random bytes`);
  const secret = createSecretKey(bytes);
  return { id, secret, check: checkOf(secret) };
}

function checkOf(secret: KeyObject): string {
  return createHmac('sha256', secret).update('countersign key check').digest('hex').slice(0, 16);
}

function assertDifferent(keys: readonly Key[], source: string): void {
  if (keys.length === 0) throw invalid(`${source} has no key`);
  const same = keys.some((key, index) =>
    keys.slice(0, index).some((other) => other.id === key.id || other.check === key.check),
  );
  if (same) throw invalid(`${source} has two keys of one id, or one key twice`);
}

function invalid(message: string): CountersignError {
  return new CountersignError('encryption_invalid', message, { hint: HINT });
}
