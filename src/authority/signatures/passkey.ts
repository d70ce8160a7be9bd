import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import type { RosterLine } from '../../contract/roster';

/** A passkey of a person: a WebAuthn credential, as a line of the approvers file gives it. */
export interface Passkey {
  /** The credential id, in base64url, as the browser reports it. */
  id: string;
  key: KeyObject;
  /** `SHA256:…` of the public key, in the form in which fingerprints of SSH keys are written. */
  fingerprint: string;
  /** The line as it is in the file. */
  line: string;
}

export type PasskeySite = NonNullable<RosterLine['site']>;

/** The passkey of a line, or the mistake in the line and its position in characters. */
type ReadPasskeyLine = { ok: true; passkey: Passkey } | { ok: false; why: string; at: number };

/** The first word of a passkey's line. */
export const PASSKEY_WORD = 'passkey';
const NOT_A_PASSKEY =
  'this is not the line of a passkey, passkey <id> <public key>; the page of the web inbox prints one';
/** The longest credential id that WebAuthn allows. */
const MOST_ID_BYTES = 1023;
const LEAST_RSA_BITS = 2048;
const MOST_RSA_BITS = 8192;

/**
 * Reads `passkey <id> <public key> [comment]`. The public key has the form in which browsers hand it out: an X.509
 * SubjectPublicKeyInfo, in base64url. So no code here has to read CBOR.
 */
export function readPasskeyLine(line: string): ReadPasskeyLine {
  const bad = (why: string, at = 0): ReadPasskeyLine => ({ ok: false, why, at });
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)) return bad('a passkey is one line, without control characters');
  const [word, id = '', body = ''] = line.split(' ');
  if (word !== PASSKEY_WORD) return bad(NOT_A_PASSKEY);
  const idBytes = readBase64url(id);
  if (idBytes === undefined || idBytes.length > MOST_ID_BYTES) return bad(NOT_A_PASSKEY, word.length + 1);
  const at = word.length + id.length + 2;
  const der = readBase64url(body);
  const key = der && publicKeyIn(der);
  if (key === undefined) return bad('this passkey has no public key that can be read', at);
  const why = whyNotTaken(key);
  if (why !== undefined) return bad(why, at);
  const fingerprint = `SHA256:${createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64')
    .replace(/=+$/, '')}`;
  return { ok: true, passkey: { id, key, fingerprint, line } };
}

/**
 * Decodes base64url without padding. Undefined for an empty text, for another spelling of the same bytes, and for any
 * other text.
 */
function readBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : undefined;
}

function publicKeyIn(der: Buffer): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: der, type: 'spki', format: 'der' });
    // Node ignores bytes after the key. They are refused here, so that a key has only one spelling.
    return key.export({ type: 'spki', format: 'der' }).equals(der) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Why a key is not accepted. Keys for ES256, EdDSA and RS256 are accepted. */
function whyNotTaken({ asymmetricKeyType: type, asymmetricKeyDetails = {} }: KeyObject) {
  if (type === 'ed25519') return undefined;
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails;
  if (type === 'ec')
    return namedCurve === 'prime256v1' ? undefined : 'the curve of this passkey is not taken; P-256 is';
  if (type !== 'rsa') return 'passkeys of this kind are not taken: ES256, EdDSA and RS256 are';
  if (modulusLength < LEAST_RSA_BITS || modulusLength > MOST_RSA_BITS)
    return `the RSA key of this passkey has ${modulusLength} bits; it has to have ${LEAST_RSA_BITS} to ${MOST_RSA_BITS}`;
  const isSound = publicExponent >= 3n && publicExponent < 2n ** 32n && publicExponent % 2n === 1n;
  return isSound ? undefined : 'the RSA key of this passkey has an exponent that is not taken';
}

/** The reasons that only a passkey's signature can have, each with its meaning in words. Others: `SSH_FAULTS`. */
export const PASSKEY_FAULTS = {
  wrong_use: 'the passkey was not used to sign',
  wrong_origin: 'it was made on another page than those in `origins` of the approvers file, or within one',
  wrong_site: 'its passkey was made for another domain than the `rpId` of the approvers file',
  not_present: 'nobody was there when it was made',
  not_verified: 'the passkey did not ask who was there, by a PIN or a finger',
} as const;
/** The reasons why a passkey's signature does not count. */
export type PasskeyFault =
  keyof typeof PASSKEY_FAULTS | 'malformed' | 'too_large' | 'unknown_key' | 'does_not_match';

/** The data of one signature from an authenticator and its browser, as bytes. */
interface Assertion {
  /** The id of the passkey, in base64url. */
  id: string;
  authenticatorData: Buffer;
  clientData: Buffer;
  signature: Buffer;
}

/**
 * Reads an assertion: the id of the passkey, authenticator data, client data and signature, each in base64url, with
 * dots between them. Undefined for anything else.
 */
function readAssertion(text: string): Assertion | undefined {
  const parts = text.split('.', 5).map(readBase64url);
  const [idBytes, authenticatorData, clientData, signature] = parts;
  if (parts.length !== 4 || idBytes === undefined) return undefined;
  if (authenticatorData === undefined || clientData === undefined || signature === undefined)
    return undefined;
  return { id: idBytes.toString('base64url'), authenticatorData, clientData, signature };
}

/** A signature to check, and the data to check it against. */
interface PasskeyCheck {
  /** The text that `readAssertion` reads. */
  assertion: string;
  /** The digest that had to be signed. */
  challenge: Buffer;
  /** Passkeys of the person who is named as the signer. */
  passkeys: readonly Passkey[];
  site: PasskeySite | undefined;
}

type PasskeyVerdict = { ok: true; fingerprint: string } | { ok: false; why: PasskeyFault; id?: string };

/** Flags of authenticator data. */
const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;
const HAS_EXTENSIONS = 0x80;
/** The length of the hash of the rpId, the flags and the counter together. */
const FIXED_BYTES = 37;

const clientDataSchema = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

/**
 * Checks a passkey's signature by the steps of WebAuthn. Never throws, whatever the input. The counter is not checked,
 * because passkeys that several devices share have no counter, and a vote counts only once anyway.
 */
export function verifyPasskey({ assertion, challenge, passkeys, site }: PasskeyCheck): PasskeyVerdict {
  if (assertion.length > LIMITS.signatureCharacters) return { ok: false, why: 'too_large' };
  const read = readAssertion(assertion);
  if (read === undefined) return { ok: false, why: 'malformed' };
  const { id, authenticatorData, clientData, signature } = read;
  const refuse = (why: PasskeyFault): PasskeyVerdict => ({ ok: false, why, id });
  const passkey = passkeys.find((one) => one.id === id);
  if (passkey === undefined || site === undefined) return refuse('unknown_key');
  const why =
    clientFault(clientData, { challenge, site }) ?? authenticatorFault(authenticatorData, site.rpId);
  if (why !== undefined) return refuse(why);
  const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
  return isOver(passkey, { signed, signature })
    ? { ok: true, fingerprint: passkey.fingerprint }
    : refuse('does_not_match');
}

function clientFault(
  bytes: Buffer,
  { challenge, site }: { challenge: Buffer; site: PasskeySite },
): PasskeyFault | undefined {
  const { data } = clientDataSchema.safeParse(parseJson(bytes.toString()));
  if (data === undefined) return 'malformed';
  if (data.type !== 'webauthn.get') return 'wrong_use';
  if (data.crossOrigin === true || data.topOrigin !== undefined) return 'wrong_origin';
  if (!site.origins.includes(data.origin)) return 'wrong_origin';
  return data.challenge === challenge.toString('base64url') ? undefined : 'does_not_match';
}

function authenticatorFault(bytes: Buffer, rpId: string): PasskeyFault | undefined {
  const flags = bytes[32] ?? 0;
  const isWhole = (flags & HAS_EXTENSIONS) === 0 ? bytes.length === FIXED_BYTES : bytes.length > FIXED_BYTES;
  // Authenticator data contains credentials only when a passkey is created.
  if (!isWhole || (flags & HAS_CREDENTIAL) !== 0) return 'malformed';
  if (!bytes.subarray(0, 32).equals(createHash('sha256').update(rpId).digest())) return 'wrong_site';
  if ((flags & PRESENT) === 0) return 'not_present';
  return (flags & VERIFIED) === 0 ? 'not_verified' : undefined;
}

function isOver({ key }: Passkey, { signed, signature }: { signed: Buffer; signature: Buffer }) {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', signed, key, signature);
  } catch {
    return false;
  }
}
