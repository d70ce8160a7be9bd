import { calculateJwkThumbprint, CompactEncrypt, importJWK } from 'jose';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import type { Question } from '../contract/question';
import { SEALED_ALG, SEALED_ENC, secretFields } from '../contract/secret/sealed';

/** The question that an answer is for. */
export interface SealedQuestion {
  question: Question;
  callKey: string;
}

/**
 * Encrypts the secret fields of an answer, for this question and for the tools that the question names. Pages run this
 * code, too.
 *
 * @throws Error if the question has no key, if its key does not match the key's name, or if a value is not a text, is
 * empty or is too long.
 */
export async function sealAnswer(
  { question, callKey }: SealedQuestion,
  content: JsonObject,
): Promise<JsonObject> {
  const sealed: JsonObject = { ...content };
  for (const [field, tools] of secretFields(question)) {
    const value = Object.hasOwn(content, field) ? content[field] : undefined;
    if (value === undefined) continue;
    if (typeof value !== 'string' || value === '') throw new Error(`${field} is secret and has to be a text`);
    const bytes = new TextEncoder().encode(value);
    if (bytes.length > LIMITS.secretBytes)
      throw new Error(`${field} is over ${LIMITS.secretBytes} bytes, the most of a secret`);
    const { key, kid } = await publicKey(question);
    const head = { alg: SEALED_ALG, enc: SEALED_ENC, kid, cs: { call: callKey, field, for: tools } };
    sealed[field] = await new CompactEncrypt(bytes).setProtectedHeader(head).encrypt(key);
  }
  return sealed;
}

async function publicKey({ key }: Question) {
  if (key === undefined) throw new Error('the question has a secret field and no key to encrypt it with');
  const { kty, crv, x, y, kid } = key;
  if ((await calculateJwkThumbprint({ kty, crv, x, y })) !== kid)
    throw new Error('the key of the question is not the one that it is named after');
  return { key: await importJWK({ kty, crv, x, y }, SEALED_ALG), kid };
}
