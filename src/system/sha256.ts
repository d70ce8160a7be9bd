import { hash } from 'node:crypto';

/** SHA-256 of text (as UTF-8) or bytes, in hex: as the contract's `digestText`, at native speed. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}
