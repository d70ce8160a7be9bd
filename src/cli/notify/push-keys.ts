import { createECDH } from 'node:crypto';

/** A key that messages of web push are signed with (VAPID), as browsers and push services write it: base64url. */
export interface PushKeys {
  publicKey: string;
  privateKey: string;
}

/** A new key. */
export function makePushKeys(): PushKeys {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // Leading zeros are part of it.
  const privateKey = Buffer.alloc(32);
  const drawn = pair.getPrivateKey();
  drawn.copy(privateKey, privateKey.length - drawn.length);
  return {
    publicKey: pair.getPublicKey('base64url'),
    privateKey: privateKey.toString('base64url'),
  };
}

/** Whether the two belong together. */
export function isPair({ publicKey, privateKey }: PushKeys): boolean {
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(Buffer.from(privateKey, 'base64url'));
    return pair.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}
