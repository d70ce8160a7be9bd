import type { importJWK, JWK } from 'jose';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import {
  type AnswerKey,
  type AnswerKeys,
  SEALED_ALG,
  SEALED_ENC,
  sealedHead,
} from '../contract/secret/sealed';
import { readKeyFile } from './keys';

/** The environment variables that we read: a worker's key file, and the fingerprints that screens accept. */
export const ANSWER_KEY_FILE = 'COUNTERSIGN_ANSWER_KEY_FILE';
export const ANSWER_KEY = 'COUNTERSIGN_ANSWER_KEY';

const part = z.string().regex(/^[\w-]{43}$/);
const privateKey = z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: part, y: part, d: part });

/** Loads `jose` only when a key is used, because every command and every client loads this file. */
const loadJose = () => import('jose');

/** A new key pair: a line for the worker's key file, and the fingerprint for screens. */
export async function makeAnswerKey(): Promise<{ line: string; fingerprint: string }> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await loadJose();
  const pair = await generateKeyPair(SEALED_ALG, { crv: 'P-256', extractable: true });
  const { kty, crv, x, y, d } = await exportJWK(pair.privateKey);
  const jwk = privateKey.parse({ kty, crv, x, y, d });
  return { line: JSON.stringify(jwk), fingerprint: await calculateJwkThumbprint(jwk) };
}

/**
 * Reads the keys of a worker. Undefined if no key file is set.
 *
 * @param file one private key a line, newest first, as a JWK. @default `COUNTERSIGN_ANSWER_KEY_FILE`
 * @throws CountersignError `encryption_invalid` for a file that others can read, or a line that is not a key.
 */
export async function readAnswerKeys(
  file = process.env[ANSWER_KEY_FILE] || undefined,
): Promise<AnswerKeys | undefined> {
  if (file === undefined || file === '') return undefined;
  const lines = readKeyFile(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const pairs = await Promise.all(lines.map((line, index) => pairOf(line, `key ${index + 1} of ${file}`)));
  const [newest] = pairs;
  if (newest === undefined) throw invalid(`${file} has no key`);
  const byId = new Map(pairs.map((pair) => [pair.publicKey.kid, pair.key]));
  return { publicKey: newest.publicKey, open: (sealed) => open(byId, sealed) };
}

type PrivateKey = Awaited<ReturnType<typeof importJWK>>;

async function pairOf(line: string, which: string): Promise<{ publicKey: AnswerKey; key: PrivateKey }> {
  const { calculateJwkThumbprint, importJWK } = await loadJose();
  try {
    const jwk: JWK & z.infer<typeof privateKey> = privateKey.parse(JSON.parse(line));
    const { kty, crv, x, y } = jwk;
    const kid = await calculateJwkThumbprint({ kty, crv, x, y });
    return { publicKey: { kty, crv, x, y, kid }, key: await importJWK(jwk, SEALED_ALG) };
  } catch {
    // The cause would quote the key.
    throw invalid(`${which} is not a private P-256 key as a JWK`);
  }
}

async function open(keys: ReadonlyMap<string, PrivateKey>, sealed: string): Promise<string> {
  const key = keys.get(sealedHead(sealed)?.kid ?? '');
  if (key === undefined) throw new Error('this worker does not have its key');
  const { compactDecrypt } = await loadJose();
  const limits = { keyManagementAlgorithms: [SEALED_ALG], contentEncryptionAlgorithms: [SEALED_ENC] };
  try {
    const { plaintext } = await compactDecrypt(sealed, key, limits);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plaintext);
  } catch {
    throw new Error('it cannot be decrypted');
  }
}

/**
 * Refuses to send values that are encrypted with a key that `pins` does not name. Without pins, every key is accepted.
 *
 * @throws CountersignError `encryption_invalid`.
 */
export function requirePinned(values: readonly unknown[], pins = process.env[ANSWER_KEY] ?? ''): void {
  const pinned = pins.split(/[\s,]+/).filter((one) => one !== '');
  if (pinned.length === 0) return;
  const other = values
    .map((value) => sealedHead(value)?.kid)
    .find((kid) => kid !== undefined && !pinned.includes(kid));
  if (other === undefined) return;
  const hint = `Ask who runs the workers. If this key is theirs, set ${ANSWER_KEY} to it.`;
  throw new CountersignError(
    'encryption_invalid',
    `the question wants its secrets encrypted with the key ${other}, which ${ANSWER_KEY} does not name; nothing was sent`,
    { hint },
  );
}

function invalid(message: string): CountersignError {
  const hint = `countersign answerkey makes a key; ${ANSWER_KEY_FILE} names the file, which only its owner may read.`;
  return new CountersignError('encryption_invalid', message, { hint });
}
