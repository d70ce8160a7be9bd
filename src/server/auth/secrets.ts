import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Draws a secret of 256 bits, in letters that survive a URL and a shell. */
export function drawSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256, in hex: all that is kept of a secret. */
export function digestSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether two digests are the same; takes equally long wherever they differ. */
export function sameDigest(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return first.length === second.length && timingSafeEqual(first, second);
}
