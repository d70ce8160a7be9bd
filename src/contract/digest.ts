import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import canonicalize from 'canonicalize';

/** SHA-256 of text (as UTF-8), in hex. Pure JavaScript: it also runs in the workflow sandbox. */
export function digestText(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** SHA-256 over the RFC 8785 canonical form of a JSON value, in hex. `digest`: what hashes its text. */
export function digestJson(value: unknown, digest: (text: string) => string = digestText): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only JSON values can be digested');
  return digest(text);
}
