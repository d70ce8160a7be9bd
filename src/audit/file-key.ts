import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CountersignError } from '../contract/errors';

/**
 * Makes a pair of keys as texts, not as objects: Node 20 hangs if it collects garbage while it exports a key object
 * that it has just generated.
 */
export function makeKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { id: keyId(createPublicKey(publicKey)), privatePem: privateKey, publicPem: publicKey };
}

/** The 32 bytes of a public key in hex. An audit file names the key in this form, and a user can pin it. */
export function keyId(key: KeyObject): string {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return Buffer.from(x ?? '', 'base64url').toString('hex');
}

/** The public key of an id. @throws CountersignError `config_invalid`. */
export function publicKeyOf(id: string): KeyObject {
  const x = Buffer.from(id, 'hex').toString('base64url');
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch (cause) {
    throw badKey('the public key that the file names is none', cause);
  }
}

/** The private key in a PEM text. @throws CountersignError `config_invalid`. */
export function readPrivateKey(pem: string, source: string): KeyObject {
  return ed25519(source, () => createPrivateKey(pem));
}

/** The id of a public key, given as PEM or as its 64 hex digits. @throws CountersignError `config_invalid`. */
export function readAuditKeyId(text: string, source: string): string {
  const bare = text.trim().toLowerCase();
  if (/^[0-9a-f]{64}$/.test(bare)) return bare;
  return keyId(ed25519(source, () => createPublicKey(text)));
}

function ed25519(source: string, read: () => KeyObject): KeyObject {
  const key = attempt(source, read);
  if (key.asymmetricKeyType !== 'ed25519') throw badKey(`the key in ${source} is not an Ed25519 key`);
  return key;
}

function attempt(source: string, read: () => KeyObject): KeyObject {
  try {
    return read();
  } catch (cause) {
    throw badKey(`there is no key in ${source} that can be read`, cause);
  }
}

function badKey(message: string, cause?: unknown) {
  return new CountersignError('config_invalid', message, {
    hint: 'countersign audit keys makes a pair',
    cause,
  });
}
