/**
 * Encrypts what Temporal keeps, for workers and clients alike. See docs/encryption.md.
 *
 * @module
 */
export { loadEncryption, type Encryption } from './load';
export type { EncryptionOptions } from './settings';
