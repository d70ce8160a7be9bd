import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import canonicalize from 'canonicalize';
import { LIMITS } from './limits';
import { utf8Bytes } from './text/bytes';

/** SHA-256 of text (as UTF-8), in hex. Pure JavaScript: it also runs in the workflow sandbox. */
export function digestText(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** The RFC 8785 canonical form of a JSON value: one text for each value. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only JSON values have a canonical form');
  return text;
}

/** SHA-256 over the canonical form of a JSON value, in hex. `digest` is the function that hashes the text. */
export function digestJson(value: unknown, digest: (text: string) => string = digestText): string {
  return digest(canonicalJson(value));
}

/**
 * The beginning of the ids of the workflows that a workflow starts: its own id. A long id is shortened, with its digest
 * at the end: the server would not take the child's id, and the task would fail again and again.
 */
export function childStem(workflowId: string): string {
  if (utf8Bytes(workflowId) <= LIMITS.childStemBytes) return workflowId;
  const end = `.${digestText(workflowId).slice(0, 32)}`;
  let room = LIMITS.childStemBytes - end.length;
  const characters = [...workflowId];
  const cut = characters.findIndex((character) => (room -= utf8Bytes(character)) < 0);
  return `${characters.slice(0, cut).join('')}${end}`;
}
