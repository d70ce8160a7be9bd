import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, createPrivateKey, sign } from 'node:crypto';
import { wireString } from '../../src/authority/signatures/ssh-wire';

/** What a test changes in a signature. */
export interface Changes {
  namespace?: string;
  hash?: string;
  version?: number;
  reserved?: string;
  algorithm?: string;
  /** Of a security key: 1 is the touch, 4 the PIN. */
  flags?: number;
  counter?: number;
  /** Follows all else. */
  trailing?: string;
  /** In place of the key's own. */
  blob?: Buffer;
}

/** A key whose signatures are made here, byte by byte as OpenSSH's PROTOCOL.sshsig and PROTOCOL.u2f say. */
export interface TestSigner {
  line: string;
  blob: Buffer;
  sign(message: string | Uint8Array, changes?: Changes): string;
}

export const SIGNERS = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const;
export type SignerType = (typeof SIGNERS)[number];

/** A number as SSH writes it. */
export const mpint = (bytes: Buffer): Buffer => {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = bytes.subarray(start === -1 ? bytes.length : start);
  return wireString((shortest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), shortest]) : shortest);
};

const part = (value: string | undefined): Buffer => Buffer.from(value ?? '', 'base64url');
const sha = (name: string, content: string | Uint8Array): Buffer => createHash(name).update(content).digest();

/** As text: Node 20 hangs if it collects garbage while a key that it has just made is exported. */
const newPrivateKey = (type: SignerType, bits: number): KeyObject => {
  const publicKeyEncoding = { type: 'spki', format: 'pem' } as const;
  const privateKeyEncoding = { type: 'pkcs8', format: 'pem' } as const;
  const pair = type.includes('ed25519')
    ? generateKeyPairSync('ed25519', { publicKeyEncoding, privateKeyEncoding })
    : type === 'ssh-rsa'
      ? generateKeyPairSync('rsa', { modulusLength: bits, publicKeyEncoding, privateKeyEncoding })
      : generateKeyPairSync('ec', {
          namedCurve: `P-${/nistp(\d+)/.exec(type)?.[1]}`,
          publicKeyEncoding,
          privateKeyEncoding,
        });
  return createPrivateKey(pair.privateKey);
};

const bodyOf = (type: SignerType, key: KeyObject): Buffer => {
  const { x, y, n, e } = key.export({ format: 'jwk' });
  if (type.includes('ed25519')) return wireString(part(x));
  if (type === 'ssh-rsa') return Buffer.concat([mpint(part(e)), mpint(part(n))]);
  const curve = /nistp\d+/.exec(type)?.[0] ?? '';
  return Buffer.concat([wireString(curve), wireString(Buffer.concat([Buffer.from([4]), part(x), part(y)]))]);
};

const rawSignature = (type: SignerType, key: KeyObject, signed: Buffer, algorithm: string): Buffer => {
  if (type.includes('ed25519')) return sign(null, signed, key);
  const hash = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512', 'ssh-rsa': 'sha1' }[algorithm];
  if (hash !== undefined) return sign(hash, signed, key);
  const curveHash = type.includes('256') ? 'sha256' : type.includes('384') ? 'sha384' : 'sha512';
  const both = sign(curveHash, signed, { key, dsaEncoding: 'ieee-p1363' });
  const half = both.length / 2;
  return Buffer.concat([mpint(both.subarray(0, half)), mpint(both.subarray(half))]);
};

export const armor = (blob: Buffer): string =>
  `-----BEGIN SSH SIGNATURE-----\n${(blob.toString('base64').match(/.{1,70}/g) ?? []).join('\n')}\n-----END SSH SIGNATURE-----\n`;

export const dearmor = (armored: string): Buffer =>
  Buffer.from(armored.split('\n').slice(1, -2).join(''), 'base64');

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Makes a key of a type. `application`: of security keys; `bits`: of RSA keys. */
export const newSigner = (
  type: SignerType,
  { application = 'ssh:', bits = 2048 }: { application?: string; bits?: number } = {},
): TestSigner => {
  const key = newPrivateKey(type, bits);
  const isHardware = type.startsWith('sk-');
  const own = Buffer.concat([
    wireString(type),
    bodyOf(type, key),
    isHardware ? wireString(application) : Buffer.alloc(0),
  ]);
  return {
    line: `${type} ${own.toString('base64')} test`,
    blob: own,
    sign: (message, changes = {}) => {
      const { namespace = 'countersign', hash = 'sha512', version = 1, reserved = '', blob = own } = changes;
      const { algorithm = type === 'ssh-rsa' ? 'rsa-sha2-512' : type, flags = 1, counter = 7 } = changes;
      const digest = sha(['sha256', 'sha512'].includes(hash) ? hash : 'sha512', message);
      const magic = Buffer.from('SSHSIG');
      const toSign = Buffer.concat([
        magic,
        ...[namespace, reserved, hash, digest].map((one) => wireString(one)),
      ]);
      const tail = Buffer.concat([Buffer.from([flags]), uint32(counter)]);
      const signed = isHardware
        ? Buffer.concat([sha('sha256', application), tail, sha('sha256', toSign)])
        : toSign;
      const inner = Buffer.concat([
        wireString(algorithm),
        wireString(rawSignature(type, key, signed, algorithm)),
        isHardware ? tail : Buffer.alloc(0),
      ]);
      const parts = [blob, namespace, reserved, hash, inner].map((one) => wireString(one));
      return armor(Buffer.concat([magic, uint32(version), ...parts, Buffer.from(changes.trailing ?? '')]));
    },
  };
};

/** Runs OpenSSH's own program; its output. Throws where it fails. */
export const sshKeygen = (args: string[], input = '', env: NodeJS.ProcessEnv = process.env): string =>
  execFileSync('ssh-keygen', args, { input, env, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });

/** Kinds of keys that `ssh-keygen` makes here, with what it takes beside the type. */
export const KEY_KINDS: [type: string, more: string[]][] = [
  ['ed25519', []],
  ['ecdsa', ['-b', '256']],
  ['ecdsa', ['-b', '384']],
  ['ecdsa', ['-b', '521']],
  ['rsa', ['-b', '2048']],
];
