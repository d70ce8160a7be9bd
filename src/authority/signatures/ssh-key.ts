import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { readBase64, readWire, type WireReader, wireString } from './ssh-wire';

/** A public key of a kind that may sign. */
export interface PublicKey {
  /** The type as OpenSSH names it, such as `ssh-ed25519`. */
  type: string;
  /** The public key in the wire form of OpenSSH, without base64. */
  blob: Buffer;
  /** The fingerprint as `ssh-keygen -l` shows it, `SHA256:…`. */
  fingerprint: string;
  key: KeyObject;
  /** For keys on a security key (`sk-…`): the application for which the key was made, such as `ssh:`. */
  application?: string;
}

/** A key of the approvers file, with the namespaces and the period for which it counts. */
export interface SignerKey extends PublicKey {
  /** The line as it is in the file. */
  line: string;
  /** The namespaces in which the key may sign. Absent: any namespace. */
  namespaces?: readonly string[];
  /** The first and the last moment at which the key counts, in milliseconds since 1970. */
  validAfter?: number;
  validBefore?: number;
}

/** The key of a line, or the mistake in the line and its position in characters. */
type ReadKeyLine = { ok: true; key: SignerKey } | { ok: false; why: string; at: number };

/** The reason why a key is not accepted, as a sentence without its full stop. */
class KeyFault extends Error {
  constructor(
    message: string,
    readonly at = 0,
  ) {
    super(message);
  }
}

const NOT_A_KEY = 'this is not a public key in the form of OpenSSH, such as ssh-ed25519 AAAA…';
const CERTIFICATE =
  'certificates are not taken, because the file would not say who may issue them: list the key itself';
const LEAST_RSA_BITS = 2048;
const MOST_RSA_BITS = 16_384;

/**
 * Reads `[options] type base64 [comment]`: a line of `allowed_signers` without the names in front. The approvers file
 * already says whom the key belongs to.
 */
export function readKeyLine(line: string): ReadKeyLine {
  try {
    return { ok: true, key: keyOf(line) };
  } catch (error) {
    return error instanceof KeyFault
      ? { ok: false, why: error.message, at: error.at }
      : { ok: false, why: NOT_A_KEY, at: 0 };
  }
}

function keyOf(line: string): SignerKey {
  if (/[^\x20-\x7e\u00a0-\uffff]/.test(line))
    throw new KeyFault('a key is one line, without control characters');
  const start = line.length - line.trimStart().length;
  const hasOptions = !/^ *(ssh-|ecdsa-|sk-)/.test(line);
  const { options, end } = hasOptions ? readOptions(line, start) : { options: {}, end: start };
  const [type = '', body = ''] = line.slice(end).split(/ +/);
  if (type.includes('-cert-v')) throw new KeyFault(CERTIFICATE, end);
  const blob = readBase64(body);
  if (blob === undefined || blob.length === 0) throw new KeyFault(NOT_A_KEY, end);
  const found = readSshPublicKey(blob);
  if (!found.ok) throw new KeyFault(found.why, end);
  if (found.key.type !== type) throw new KeyFault(NOT_A_KEY, end);
  return { ...found.key, ...options, line };
}

type Options = Pick<SignerKey, 'namespaces' | 'validAfter' | 'validBefore'>;

/** Matches a key type. A line without one is more likely not a key at all than a key with wrong options. */
const KEY_TYPE = / (ssh-|ecdsa-|sk-)/;
const OPTION = /([A-Za-z][A-Za-z0-9@._-]*)(?:="([^"\\]*)")?(,| +|$)/y;

function readOptions(line: string, start: number) {
  const given = new Map<string, { value: string; at: number }>();
  for (let at = start; ;) {
    OPTION.lastIndex = at;
    const [all = '', written = '', value, next] = OPTION.exec(line) ?? [];
    const name = written.toLowerCase();
    if (all === '' || !KEY_TYPE.test(line)) throw new KeyFault(NOT_A_KEY, at);
    if (name === 'cert-authority') throw new KeyFault(CERTIFICATE, at);
    if (!['namespaces', 'valid-after', 'valid-before'].includes(name))
      throw new KeyFault(
        `there is no option '${written}'; a key may have namespaces, valid-after and valid-before`,
        at,
      );
    if (value === undefined) throw new KeyFault(`'${written}' needs a value in quotes`, at);
    if (given.has(name)) throw new KeyFault(`'${written}' is given twice`, at);
    given.set(name, { value, at });
    at += all.length;
    if (next === ',') continue;
    return { options: optionsOf(given), end: at };
  }
}

function optionsOf(given: ReadonlyMap<string, { value: string; at: number }>): Options {
  const [names, after, before] = ['namespaces', 'valid-after', 'valid-before'].map((name) => given.get(name));
  const namespaces = names?.value.split(',');
  if (namespaces?.every((name) => /^[A-Za-z0-9._@-]+$/.test(name)) === false)
    throw new KeyFault('namespaces are names with commas between them, without patterns', names?.at);
  const validAfter = after === undefined ? undefined : momentOf(after);
  const validBefore = before === undefined ? undefined : momentOf(before);
  if (validAfter !== undefined && validBefore !== undefined && validBefore < validAfter)
    throw new KeyFault('this key is never valid: valid-before is before valid-after', before?.at);
  return { namespaces, validAfter, validBefore };
}

function momentOf({ value, at }: { value: string; at: number }) {
  const parts = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z?)$/.exec(value);
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', zone] = parts ?? [];
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const moment = Date.parse(iso);
  if (Number.isNaN(moment) || new Date(moment).toISOString() !== iso)
    throw new KeyFault('times are YYYYMMDDZ, YYYYMMDDHHMMZ or YYYYMMDDHHMMSSZ', at);
  if (zone !== 'Z')
    throw new KeyFault('this time has to end in Z (UTC): workers may be in several time zones', at);
  return moment;
}

/** Reads a key in the wire form of OpenSSH, or says why it may not sign. Never throws. */
export function readSshPublicKey(blob: Buffer): { ok: true; key: PublicKey } | { ok: false; why: string } {
  try {
    const wire = readWire(blob);
    const type = wire.text();
    if (type.includes('-cert-v')) return { ok: false, why: CERTIFICATE };
    if (!Object.hasOwn(READERS, type)) return { ok: false, why: `keys of type '${type}' are not taken` };
    const { jwk, application } = READERS[type]?.(wire) ?? {};
    wire.end();
    if (jwk === undefined) return { ok: false, why: NOT_A_KEY };
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return {
      ok: true,
      key: { type, blob, fingerprint: fingerprintOf(blob), key, application },
    };
  } catch (error) {
    return { ok: false, why: error instanceof KeyFault ? error.message : NOT_A_KEY };
  }
}

function fingerprintOf(blob: Buffer) {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

interface Parts {
  jwk: JsonWebKey;
  application?: string;
}

/** Readers for the part of a key after its type, by type. */
const READERS: Readonly<Record<string, (wire: WireReader) => Parts>> = {
  'ssh-ed25519': ed25519,
  'ecdsa-sha2-nistp256': (wire) => ecdsa(wire, 'nistp256'),
  'ecdsa-sha2-nistp384': (wire) => ecdsa(wire, 'nistp384'),
  'ecdsa-sha2-nistp521': (wire) => ecdsa(wire, 'nistp521'),
  'ssh-rsa': rsa,
  'sk-ssh-ed25519@openssh.com': (wire) => ({ ...ed25519(wire), ...applicationIn(wire) }),
  'sk-ecdsa-sha2-nistp256@openssh.com': (wire) => ({ ...ecdsa(wire, 'nistp256'), ...applicationIn(wire) }),
};

function ed25519(wire: WireReader): Parts {
  const point = wire.bytes();
  if (point.length !== 32) throw new KeyFault(NOT_A_KEY);
  return { jwk: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') } };
}

const CURVES = {
  nistp256: { crv: 'P-256', bytes: 32 },
  nistp384: { crv: 'P-384', bytes: 48 },
  nistp521: { crv: 'P-521', bytes: 66 },
} as const;

function ecdsa(wire: WireReader, curve: keyof typeof CURVES): Parts {
  const { crv, bytes } = CURVES[curve];
  const isCurve = wire.text() === curve;
  const point = wire.bytes();
  if (!isCurve || point[0] !== 4 || point.length !== 1 + 2 * bytes) throw new KeyFault(NOT_A_KEY);
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)].map((one) =>
    one.toString('base64url'),
  );
  return { jwk: { kty: 'EC', crv, x, y } };
}

function rsa(wire: WireReader): Parts {
  const [e, n] = [wire.positive(), wire.positive()];
  const bits = n.length * 8 - Math.clz32(n[0] ?? 0) + 24;
  if (bits < LEAST_RSA_BITS)
    throw new KeyFault(`this RSA key has ${bits} bits; the least is ${LEAST_RSA_BITS}`);
  if (bits > MOST_RSA_BITS) throw new KeyFault(`this RSA key has ${bits} bits; the most is ${MOST_RSA_BITS}`);
  // A large exponent makes a check slow. A small or an even exponent makes it worthless.
  const exponent = e.length > 4 ? 0 : e.readUIntBE(0, e.length);
  if (exponent < 3 || exponent % 2 === 0)
    throw new KeyFault('this RSA key has an exponent that is not taken');
  return { jwk: { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') } };
}

/**
 * The application of a security key. A key made for a web site has a domain as its application, and must not pass for a
 * key of OpenSSH.
 */
function applicationIn(wire: WireReader) {
  const application = wire.text();
  if (!application.startsWith('ssh:'))
    throw new KeyFault('the application of this key does not begin with ssh:');
  return { application };
}

/** The line of an Ed25519 key for the approvers file. */
export function ed25519Line(key: KeyObject, comment: string): { line: string; blob: Buffer } {
  const { x = '' } = key.export({ format: 'jwk' });
  const blob = Buffer.concat([wireString('ssh-ed25519'), wireString(Buffer.from(x, 'base64url'))]);
  return { line: `ssh-ed25519 ${blob.toString('base64')} ${comment}`, blob };
}
