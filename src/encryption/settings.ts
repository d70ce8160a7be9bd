import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import { readKeyFile } from './key-file';
import { parseKeys, type Key } from './keys';

/** Where keys come from. What is not given comes from the environment. */
export interface EncryptionOptions {
  /** `<id>:<base64 of 32 bytes>`, newest first. @default `COUNTERSIGN_ENCRYPTION_KEYS` */
  keys?: readonly string[];
  /** A file with one key a line, which only its owner may read. @default `COUNTERSIGN_ENCRYPTION_KEY_FILE` */
  keyFile?: string;
  /** Refuses what is not encrypted. @default `COUNTERSIGN_ENCRYPTION_REQUIRED`, then true where there are keys */
  required?: boolean;
}

/** Keys that were read, and whether there has to be encryption. */
export interface EncryptionSettings {
  keys: readonly Key[];
  required: boolean;
}

/** The variables we read. */
export const VARIABLES = {
  keys: 'COUNTERSIGN_ENCRYPTION_KEYS',
  keyFile: 'COUNTERSIGN_ENCRYPTION_KEY_FILE',
  required: 'COUNTERSIGN_ENCRYPTION_REQUIRED',
} as const;

const optionsSchema = z.strictObject({
  keys: z.array(z.string()).min(1).optional(),
  keyFile: z.string().min(1).optional(),
  required: z.boolean().optional(),
});

/**
 * Reads keys and the mode.
 *
 * @throws CountersignError `encryption_invalid`: malformed or doubled keys, a file that others can read, keys from two
 * places, or required without keys.
 */
export function readEncryption(given: EncryptionOptions, env: NodeJS.ProcessEnv): EncryptionSettings {
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw invalid('the encryption options are not { keys, keyFile, required }');
  const keys = keysOf(given, env);
  const required = given.required ?? readFlag(env[VARIABLES.required]) ?? keys.length > 0;
  if (required && keys.length === 0) throw invalid('encryption is required, and there are no keys');
  return { keys, required };
}

/** Options win over the environment as a whole; two places of one kind would leave open which key is newest. */
function keysOf(given: EncryptionOptions, env: NodeJS.ProcessEnv): Key[] {
  const isGiven = given.keys !== undefined || given.keyFile !== undefined;
  const list = isGiven ? given.keys?.join('\n') : env[VARIABLES.keys] || undefined;
  const file = isGiven ? given.keyFile : env[VARIABLES.keyFile] || undefined;
  if (list !== undefined && file !== undefined) throw invalid('keys are given both as a list and as a file');
  if (list !== undefined) return parseKeys(list, isGiven ? 'the option keys' : VARIABLES.keys);
  return file === undefined ? [] : parseKeys(readKeyFile(file), file);
}

function readFlag(text: string | undefined): boolean | undefined {
  if (text === undefined || text === '') return undefined;
  if (['true', '1'].includes(text)) return true;
  if (['false', '0'].includes(text)) return false;
  throw invalid(`${VARIABLES.required} is neither true nor false`);
}

function invalid(message: string): CountersignError {
  const hint = `Set ${VARIABLES.keys} or ${VARIABLES.keyFile}, not both; ${VARIABLES.required} is true or false.`;
  return new CountersignError('encryption_invalid', message, { hint });
}
