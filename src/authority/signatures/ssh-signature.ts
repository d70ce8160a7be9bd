import { constants, createHash, verify } from 'node:crypto';
import { type PublicKey, readSshPublicKey, type SignerKey } from './ssh-key';
import { readBase64, readWire, type WireReader, wireString } from './ssh-wire';

/**
 * The namespace of a person's signature (`ssh-keygen -Y sign -n`). A signature for Git or for mail has another
 * namespace, so it does not pass.
 */
export const SIGNATURE_NAMESPACE = 'countersign';
/** The namespace of the web inbox's own signature, so that it never passes for a person's signature. */
export const INBOX_NAMESPACE = 'countersign-inbox';
/**
 * The namespaces of signatures on grants. So a signature on one call never passes for a signature on a grant, nor the
 * other way round.
 */
export const GRANT_NAMESPACE = 'countersign-grant';
export const INBOX_GRANT_NAMESPACE = 'countersign-inbox-grant';

/** The reasons why a signature does not count, each with its meaning in words. */
export const SSH_FAULTS = {
  malformed: 'this is not a signature in the form of OpenSSH',
  too_large: 'it is larger than any signature',
  certificate: 'it was made with a certificate; list the key itself in the approvers file',
  weak_key: 'its key, or how it was made, is not taken: RSA keys need 2,048 bits and SHA-2',
  wrong_namespace: 'it was made for something else than Countersign',
  unknown_key: "its key is not, or no longer, one of this person's in the approvers file",
  key_not_yet_valid: 'its key is not valid yet',
  key_expired: 'its key is no longer valid',
  key_for_other_use: 'its key is listed for other uses',
  not_touched: 'nobody touched the security key when it was made',
  does_not_match: 'it is not a signature over this',
} as const;
export type SshFault = keyof typeof SSH_FAULTS;

/** A signature to check, and the data to check it against. */
interface SshCheck {
  /** The signature as `ssh-keygen -Y sign` writes it. */
  armored: string;
  message: Uint8Array;
  /** Keys of the person who is named as the signer. */
  keys: readonly SignerKey[];
  namespace: string;
  /** Refuses signatures of a security key that nobody touched. */
  requireTouch: boolean;
  /** The key has to be valid at each of these moments, in milliseconds since 1970. */
  moments: readonly number[];
}

export interface SshSigner {
  fingerprint: string;
  /** True if a security key holds the key, so that a copy of a file cannot sign. */
  isHardware: boolean;
  /** True if the security key also asked for a PIN or a finger. */
  isUserVerified: boolean;
}

type SshVerdict = ({ ok: true } & SshSigner) | { ok: false; why: SshFault; fingerprint?: string };

/** Checks a signature. Never throws, whatever the input. */
export function verifySshSignature(check: SshCheck): SshVerdict {
  const read = readSshSignature(check.armored, check.keys);
  if (!read.ok) return read;
  const { signature } = read;
  const { fingerprint } = signature.key;
  const refuse = (why: SshFault): SshVerdict => ({ ok: false, why, fingerprint });
  if (signature.namespace !== check.namespace) return refuse('wrong_namespace');
  const listed = check.keys.find(({ fingerprint: one }) => one === fingerprint);
  if (listed === undefined) return refuse('unknown_key');
  const { namespaces, validAfter = -Infinity, validBefore = Infinity } = listed;
  if (namespaces?.includes(check.namespace) === false) return refuse('key_for_other_use');
  if (!check.moments.every((moment) => moment >= validAfter)) return refuse('key_not_yet_valid');
  if (!check.moments.every((moment) => moment <= validBefore)) return refuse('key_expired');
  const { isHardware, isTouched, isUserVerified } = signature;
  if (check.requireTouch && isHardware && !isTouched) return refuse('not_touched');
  if (!isOver(signature, check.message)) return refuse('does_not_match');
  return { ok: true, fingerprint, isHardware, isUserVerified };
}

/** The content of a signature. Nothing in it is checked yet. */
interface SshSignature {
  key: PublicKey;
  namespace: string;
  isHardware: boolean;
  isTouched: boolean;
  isUserVerified: boolean;
  hash: 'sha256' | 'sha512';
  algorithm: string;
  value: Buffer;
  /** For security keys: the flags and the counter, which the key signs as well. */
  flags: Buffer;
}

/** The most characters of a signature. An RSA key of 16,384 bits and its signature take 6 KB. */
const MOST_CHARACTERS = 16_384;
const ARMOR =
  /^-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)\n-----END SSH SIGNATURE-----(?:\r?\n)?$/;

/**
 * Reads the form of `ssh-keygen -Y sign` (OpenSSH's PROTOCOL.sshsig) strictly. Never throws.
 *
 * @param known keys that were parsed already. Parsing a key of an elliptic curve takes as long as a check.
 */
export function readSshSignature(
  armored: string,
  known: readonly PublicKey[] = [],
): { ok: true; signature: SshSignature } | { ok: false; why: SshFault } {
  if (armored.length > MOST_CHARACTERS) return { ok: false, why: 'too_large' };
  const blob = readBase64((ARMOR.exec(armored)?.[1] ?? '').replace(/[\r\n]+/g, ''));
  if (blob === undefined || blob.length === 0) return { ok: false, why: 'malformed' };
  try {
    return signatureIn(blob, known);
  } catch {
    return { ok: false, why: 'malformed' };
  }
}

const MAGIC = 'SSHSIG';

function signatureIn(blob: Buffer, known: readonly PublicKey[]): ReturnType<typeof readSshSignature> {
  if (blob.subarray(0, MAGIC.length).toString('latin1') !== MAGIC) return { ok: false, why: 'malformed' };
  const wire = readWire(blob.subarray(MAGIC.length));
  if (wire.uint32() !== 1) return { ok: false, why: 'malformed' };
  const keyBlob = wire.bytes();
  const namespace = wire.text();
  const isReserved = wire.bytes().length === 0;
  const hash = wire.text();
  const inner = readWire(wire.bytes());
  wire.end();
  const algorithm = inner.text();
  const key = known.find((one) => one.blob.equals(keyBlob)) ?? keyIn(keyBlob);
  if (key === undefined) return { ok: false, why: faultOfKey(keyBlob) };
  if (!(key.type === 'ssh-rsa' ? ['rsa-sha2-256', 'rsa-sha2-512'] : [key.type]).includes(algorithm))
    return { ok: false, why: algorithm === 'ssh-rsa' ? 'weak_key' : 'malformed' };
  const value = inner.bytes();
  const isHardware = key.application !== undefined;
  const flags = isHardware ? flagsIn(inner) : Buffer.alloc(0);
  inner.end();
  if (!isReserved || (hash !== 'sha256' && hash !== 'sha512')) return { ok: false, why: 'malformed' };
  const bits = flags[0] ?? 0;
  return {
    ok: true,
    signature: {
      key,
      namespace,
      hash,
      algorithm,
      value,
      flags,
      isHardware,
      isTouched: (bits & 0x01) !== 0,
      isUserVerified: (bits & 0x04) !== 0,
    },
  };
}

function keyIn(blob: Buffer): PublicKey | undefined {
  const read = readSshPublicKey(blob);
  return read.ok ? read.key : undefined;
}

function faultOfKey(blob: Buffer): SshFault {
  const type = readWire(blob).text();
  if (type.includes('-cert-v')) return 'certificate';
  return type === 'ssh-rsa' || type === 'ssh-dss' ? 'weak_key' : 'malformed';
}

function flagsIn(wire: WireReader): Buffer {
  const flags = Buffer.alloc(5);
  flags.writeUInt8(wire.byte(), 0);
  flags.writeUInt32BE(wire.uint32(), 1);
  return flags;
}

/** The bytes that are signed in place of a message. */
export function sshSignedBytes(message: Uint8Array, namespace: string, hash: 'sha256' | 'sha512'): Buffer {
  const digest = createHash(hash).update(message).digest();
  return Buffer.concat([Buffer.from(MAGIC), ...[namespace, '', hash, digest].map(wireString)]);
}

function isOver(signature: SshSignature, message: Uint8Array) {
  const { key, namespace, hash, flags } = signature;
  const signed = sshSignedBytes(message, namespace, hash);
  try {
    if (key.application === undefined) return isSignedBy(signature, signed);
    // A security key signs these bytes, by OpenSSH's PROTOCOL.u2f.
    return isSignedBy(signature, Buffer.concat([sha256(key.application), flags, sha256(signed)]));
  } catch {
    return false;
  }
}

function sha256(content: string | Uint8Array): Buffer {
  return createHash('sha256').update(content).digest();
}

function isSignedBy({ key: { key, type }, algorithm, value }: SshSignature, signed: Buffer) {
  if (type.includes('ed25519')) return verify(null, signed, key, value);
  if (type === 'ssh-rsa') {
    const hash = algorithm === 'rsa-sha2-256' ? 'sha256' : 'sha512';
    return verify(hash, signed, { key, padding: constants.RSA_PKCS1_PADDING }, value);
  }
  const [hash, bytes] = type.includes('nistp256')
    ? (['sha256', 32] as const)
    : type.includes('nistp384')
      ? (['sha384', 48] as const)
      : (['sha512', 66] as const);
  const wire = readWire(value);
  const numbers = [wire.positive(), wire.positive()];
  wire.end();
  if (numbers.some(({ length }) => length > bytes)) return false;
  const parts = numbers.map((number) => Buffer.concat([Buffer.alloc(bytes - number.length), number]));
  return verify(hash, signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(parts));
}

/** Writes a signature in the form of `ssh-keygen -Y sign`, for a key that is not on a security key. */
export function armorOf(signed: {
  keyBlob: Buffer;
  namespace: string;
  hash: 'sha256' | 'sha512';
  algorithm: string;
  value: Buffer;
}): string {
  const { keyBlob, namespace, hash, algorithm, value } = signed;
  const version = Buffer.from([0, 0, 0, 1]);
  const inner = Buffer.concat([wireString(algorithm), wireString(value)]);
  const blob = Buffer.concat([
    Buffer.from(MAGIC),
    version,
    ...[keyBlob, namespace, '', hash, inner].map((part) => wireString(part)),
  ]);
  const lines = blob.toString('base64').match(/.{1,70}/g) ?? [];
  return `-----BEGIN SSH SIGNATURE-----\n${lines.join('\n')}\n-----END SSH SIGNATURE-----\n`;
}
