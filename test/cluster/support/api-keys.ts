import { createPublicKey, createSign, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** What a server that asks for API keys is told, and keys that it takes. */
export interface ApiKeys {
  /** The file of public keys, for the server. */
  publicKeys: string;
  /** An API key with these permissions, `<namespace>:<role>` each, or `temporal-system:admin`. */
  make(...permissions: string[]): string;
}

const KEY_ID = 'test';
const HOUR = 3600;

/** Makes a key pair and writes the public half where the server reads it. */
export const makeApiKeys = (publicKeys: string): ApiKeys => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const jwk = {
    ...createPublicKey(publicKey).export({ format: 'jwk' }),
    kid: KEY_ID,
    use: 'sig',
    alg: 'RS256',
  };
  writeFileSync(publicKeys, JSON.stringify({ keys: [jwk] }));
  const make = (...permissions: string[]): string => {
    const expires = Math.floor(Date.now() / 1000) + HOUR;
    const parts = [
      { alg: 'RS256', typ: 'JWT', kid: KEY_ID },
      { sub: 'tester', permissions, exp: expires },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const text = parts.join('.');
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`;
  };
  return { publicKeys, make };
};
