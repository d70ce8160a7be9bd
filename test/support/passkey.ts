import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { PASSKEY_WORD } from '../../src/authority/signatures/passkey';
import { rsaPair } from './rsa-key';

/** What a test wants to be otherwise than an honest browser and authenticator say it. */
export interface PasskeyChanges {
  type?: string;
  origin?: string;
  rpId?: string;
  flags?: number;
  counter?: number;
  client?: object;
  authenticatorData?: Buffer;
  /** Signed in place of what is sent. */
  signed?: Buffer;
}

/** An authenticator in software that signs for one site. */
export interface TestPasskey {
  id: string;
  line: string;
  /** The assertion over a text, as the page sends it. */
  sign(text: string, changes?: PasskeyChanges): string;
}

const KINDS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: rsaPair,
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  small: () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
} satisfies Record<string, () => { publicKey: KeyObject; privateKey: KeyObject }>;

export const SITE = { rpId: 'inbox.example.com', origin: 'https://inbox.example.com' };

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

export function newPasskey(kind: keyof typeof KINDS = 'ES256'): TestPasskey {
  const { publicKey, privateKey } = KINDS[kind]();
  const id = randomBytes(16).toString('base64url');
  const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('base64url');
  return {
    id,
    line: `${PASSKEY_WORD} ${id} ${spki}`,
    sign: (text, changes = {}) => {
      const { type = 'webauthn.get', origin = SITE.origin, rpId = SITE.rpId, flags = 0x05 } = changes;
      const challenge = sha256(text).toString('base64url');
      const client = { type, challenge, origin, crossOrigin: false, ...changes.client };
      const clientData = Buffer.from(JSON.stringify(client));
      const counter = Buffer.alloc(4);
      counter.writeUInt32BE(changes.counter ?? 0);
      const data = changes.authenticatorData ?? Buffer.concat([sha256(rpId), Buffer.from([flags]), counter]);
      const signed = changes.signed ?? Buffer.concat([data, sha256(clientData)]);
      const signature = sign(kind === 'EdDSA' ? null : 'sha256', signed, privateKey);
      const parts = [data, clientData, signature].map((one) => one.toString('base64url'));
      return [id, ...parts].join('.');
    },
  };
}
