import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../system/sha256';

/** Makes a secret of 256 bits, in characters that are safe in a URL and a shell. */
export function drawSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 of a secret, in hex. Only this is stored. */
export function digestSecret(secret: string): string {
  return sha256(secret);
}

/** Whether two digests are equal, in constant time. */
export function sameDigest(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return first.length === second.length && timingSafeEqual(first, second);
}
