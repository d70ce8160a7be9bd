import { createECDH } from 'node:crypto';

/** A key that messages of web push are signed with (VAPID), as browsers and push services write it: base64url. */
export interface PushKeys {
  publicKey: string;
  privateKey: string;
}

/** Makes a new pair of keys. */
export function makePushKeys(): PushKeys {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // The key has a fixed length, so leading zeros are kept.
  const privateKey = Buffer.alloc(32);
  const drawn = pair.getPrivateKey();
  drawn.copy(privateKey, privateKey.length - drawn.length);
  return {
    publicKey: pair.getPublicKey('base64url'),
    privateKey: privateKey.toString('base64url'),
  };
}

/** Whether the public key belongs to the private key. */
export function isPair({ publicKey, privateKey }: PushKeys): boolean {
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(Buffer.from(privateKey, 'base64url'));
    return pair.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}
