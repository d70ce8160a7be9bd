import { hash } from 'node:crypto';

/** SHA-256 of text in hex: what `digestText` of the contract gives, at native speed. */
export function contentDigest(text: string): string {
  return hash('sha256', text, 'hex');
}
