import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { CountersignError } from '../contract/errors';
import { KEY_ID } from './bundle-converters';
import { guard } from '../contract/schema/message';
import { flag, list, object, type Of, refined, text } from '../contract/schema/shape';
import { privateFaultText, type PrivateFault, readPrivateFile } from '../system/files';

/** The variables we read. */
const KEY_VARIABLES = {
  keys: 'COUNTERSIGN_ENCRYPTION_KEYS',
  keyFile: 'COUNTERSIGN_ENCRYPTION_KEY_FILE',
  required: 'COUNTERSIGN_ENCRYPTION_REQUIRED',
} as const;

const OPTIONS = refined(
  object(
    {},
    {
      /** `<id>:<base64 of 32 bytes>`, newest first. @default `COUNTERSIGN_ENCRYPTION_KEYS` */
      keys: list(text(), { minItems: 1 }),
      /** A file with one key a line, which only its owner may read. @default `COUNTERSIGN_ENCRYPTION_KEY_FILE` */
      keyFile: text({ minLength: 1 }),
      /**
       * Whether plaintext payloads are refused. @default `COUNTERSIGN_ENCRYPTION_REQUIRED`, otherwise true if there are
       * keys
       */
      required: flag(),
    },
  ),
  { additionalProperties: false },
);
const areOptions = guard(OPTIONS);

/** The sources of keys. The environment fills in missing options; `keys` or `keyFile` replaces both variables. */
export interface EncryptionOptions extends Of<typeof OPTIONS> {}

/**
 * Reads keys and the mode.
 *
 * @throws CountersignError `config_invalid`: malformed or repeated keys, a file that others can read, keys from two
 * places, or encryption that is required although there are no keys.
 */
export function readEncryption(given: EncryptionOptions, env: NodeJS.ProcessEnv) {
  if (!areOptions(given)) throw invalid('the encryption options are not { keys, keyFile, required }');
  const keys = keysOf(given, env);
  const required = given.required ?? readFlag(env[KEY_VARIABLES.required]) ?? keys.length > 0;
  if (required && keys.length === 0) throw invalid('encryption is required, and there are no keys');
  return { keys, required };
}

/**
 * Reads the keys. The options replace the environment completely. With both a list and a file it would be unclear which
 * key is newest.
 */
function keysOf(given: EncryptionOptions, env: NodeJS.ProcessEnv): RingKey[] {
  const isGiven = given.keys !== undefined || given.keyFile !== undefined;
  const list = isGiven ? given.keys?.join('\n') : env[KEY_VARIABLES.keys] || undefined;
  const file = isGiven ? given.keyFile : env[KEY_VARIABLES.keyFile] || undefined;
  if (list !== undefined && file !== undefined) throw invalid('keys are given both as a list and as a file');
  if (list !== undefined) return parseKeys(list, isGiven ? 'the option keys' : KEY_VARIABLES.keys);
  return file === undefined ? [] : parseKeys(readKeyFile(file), file);
}

function readFlag(text: string | undefined): boolean | undefined {
  if (text === undefined || text === '') return undefined;
  if (['true', '1'].includes(text)) return true;
  if (['false', '0'].includes(text)) return false;
  throw invalid(`${KEY_VARIABLES.required} is neither true nor false`);
}

function invalid(message: string): CountersignError {
  const hint = `Set ${KEY_VARIABLES.keys} or ${KEY_VARIABLES.keyFile}, not both; ${KEY_VARIABLES.required} is true or false.`;
  return new CountersignError('config_invalid', message, hint);
}

/** One key of a ring. */
export interface RingKey {
  /** The id of the key. Every payload that the key encrypts contains it, so it is not secret. */
  id: string;
  secret: KeyObject;
  /** Distinguishes two keys that have the same id, without revealing either key. */
  check: string;
}

const KEY_BYTES = 32;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;
const HINT =
  'Write <id>:<32 bytes in base64>, newest first, one a line or with commas between; `openssl rand -base64 32` makes one.';

/**
 * Reads keys from text: `<id>:<base64 of 32 bytes>`, one on each line or with commas between; `#` starts a comment
 * line. The first key encrypts.
 *
 * @param source names the text in messages, which never show the text itself.
 * @throws CountersignError `config_invalid`.
 */
function parseKeys(text: string, source: string): RingKey[] {
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

function parseKey(entry: string, which: string): RingKey {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, Math.max(0, colon)).trim();
  const encoded = entry.slice(colon + 1).trim();
  if (!KEY_ID.test(id))
    throw invalidKey(`${which} has no id of 1 to 64 letters, digits, dots, dashes or underscores`);
  if (!BASE64.test(encoded)) throw invalidKey(`${which} is not 32 bytes in base64`);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.every((byte) => byte === bytes[0]))
    throw invalidKey(`${which} is not 32 random bytes`);
  const secret = createSecretKey(bytes);
  return {
    id,
    secret,
    check: createHmac('sha256', secret).update('countersign key check').digest('hex').slice(0, 16),
  };
}

function assertDifferent(keys: readonly RingKey[], source: string) {
  if (keys.length === 0) throw invalidKey(`${source} has no key`);
  const same = keys.some((key, index) =>
    keys.slice(0, index).some((other) => other.id === key.id || other.check === key.check),
  );
  if (same) throw invalidKey(`${source} has two keys of one id, or one key twice`);
}

function invalidKey(message: string) {
  return new CountersignError('config_invalid', message, HINT);
}

/**
 * The text of a key file, if only its owner can read it.
 *
 * @throws CountersignError `config_invalid` for a file that is missing, too large, not ours, or open to others.
 */
export function readKeyFile(path: string): string {
  const read = readPrivateFile(path);
  if ('text' in read) return read.text;
  throw new CountersignError('config_invalid', `the key file ${path} ${privateFaultText(read)}`, {
    hint: hintFor(read.fault, path),
    cause: read.cause,
  });
}

function hintFor(fault: PrivateFault, path: string) {
  if (fault === 'missing' || fault === 'unreadable') return `Check ${KEY_VARIABLES.keyFile}.`;
  if (fault === 'open_to_others') return `Run: chmod 600 ${path}`;
  return 'Keep the keys in a file of your own that only you can read (chmod 600).';
}
