import { createHash, verify } from 'node:crypto';
import { z } from 'zod';
import { LIMITS } from '../contract/limits';
import { parseJson } from '../contract/json';
import { type Passkey, type PasskeySite, readBase64url } from './passkey';

/** Why what a passkey signed does not count, and what that means. */
export const PASSKEY_FAULTS = {
  malformed: 'this is not a signature by a passkey',
  too_large: 'it is larger than any signature',
  unknown_key: "its passkey is not, or no longer, one of this person's in the approvers file",
  wrong_use: 'the passkey was not used to sign',
  wrong_origin: 'it was made on another page than those in `origins` of the approvers file, or within one',
  wrong_site: 'its passkey was made for another domain than the `rpId` of the approvers file',
  not_present: 'nobody was there when it was made',
  not_verified: 'the passkey did not ask who was there, by a PIN or a finger',
  does_not_match: 'it is not a signature over this',
} as const;
export type PasskeyFault = keyof typeof PASSKEY_FAULTS;

/** What an authenticator and its browser say of one signature, as bytes. */
export interface Assertion {
  /** Of the passkey, in base64url. */
  id: string;
  authenticatorData: Buffer;
  clientData: Buffer;
  signature: Buffer;
}

/**
 * Reads an assertion: the id of the passkey, authenticator data, client data and signature, each in base64url, with dots
 * between them. Undefined for anything else.
 */
export function readAssertion(text: string): Assertion | undefined {
  const parts = text.split('.', 5).map(readBase64url);
  const [idBytes, authenticatorData, clientData, signature] = parts;
  if (parts.length !== 4 || idBytes === undefined) return undefined;
  if (authenticatorData === undefined || clientData === undefined || signature === undefined)
    return undefined;
  return { id: idBytes.toString('base64url'), authenticatorData, clientData, signature };
}

/** What to check. */
export interface PasskeyCheck {
  /** In the form of `readAssertion`. */
  assertion: string;
  /** What was to be signed: a digest. */
  challenge: Buffer;
  /** Passkeys of the one person who is named as the signer. */
  passkeys: readonly Passkey[];
  site: PasskeySite | undefined;
}

export type PasskeyVerdict =
  { ok: true; fingerprint: string } | { ok: false; why: PasskeyFault; id?: string };

/** Flags of authenticator data. */
const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;
const HAS_EXTENSIONS = 0x80;
/** Hash of the rpId, flags and counter. */
const FIXED_BYTES = 37;

const clientDataSchema = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

/**
 * Checks what a passkey signed, by WebAuthn's own steps. Never throws, whatever the input. The counter is not looked at:
 * passkeys that several devices share have none, and a vote counts once anyway.
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
  // Only where a passkey is made are there credentials.
  if (!isWhole || (flags & HAS_CREDENTIAL) !== 0) return 'malformed';
  if (!bytes.subarray(0, 32).equals(createHash('sha256').update(rpId).digest())) return 'wrong_site';
  if ((flags & PRESENT) === 0) return 'not_present';
  return (flags & VERIFIED) === 0 ? 'not_verified' : undefined;
}

function isOver({ key }: Passkey, { signed, signature }: { signed: Buffer; signature: Buffer }): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', signed, key, signature);
  } catch {
    return false;
  }
}
