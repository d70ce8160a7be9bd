import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  ed25519Line,
  readKeyLine,
  readSshPublicKey,
  type SignerKey,
} from '../../../src/authority/signatures/ssh-key';
import { wireString } from '../../../src/authority/signatures/ssh-wire';
import { scratchDirectory } from '../../support/scratch';
import { KEY_KINDS, mpint, newSigner, SIGNERS, sshKeygen } from '../../support/ssh';
import { needs } from '../../support/parts';

needs('ssh');

const scratch = scratchDirectory();
const { line: LINE, blob: BLOB } = newSigner('ssh-ed25519');

const keyOf = (line: string): SignerKey => {
  const read = readKeyLine(line);
  if (!read.ok) throw new Error(read.why);
  return read.key;
};

it.each(KEY_KINDS)('reads what ssh-keygen writes, with its fingerprint: %s %j', (type, more) => {
  const file = join(scratch(), 'key');
  sshKeygen(['-q', '-t', type, ...more, '-N', '', '-C', 'anna on her machine', '-f', file]);
  const key = keyOf(readFileSync(`${file}.pub`, 'utf8').trim());
  expect(sshKeygen(['-l', '-f', `${file}.pub`])).toContain(` ${key.fingerprint} `);
});

it.each(SIGNERS)('reads %s', (type) => {
  const { line, blob } = newSigner(type);
  expect(keyOf(line)).toMatchObject({ type, line });
  expect(keyOf(line).blob.equals(blob)).toBe(true);
  expect(keyOf(line).application).toBe(type.startsWith('sk-') ? 'ssh:' : undefined);
});

it('reads options of allowed_signers', () => {
  const line = `namespaces="countersign,git",Valid-After="20260101Z",valid-before="202611242359Z" ${LINE}`;
  expect(keyOf(line)).toMatchObject({
    namespaces: ['countersign', 'git'],
    validAfter: Date.UTC(2026, 0, 1),
    validBefore: Date.UTC(2026, 10, 24, 23, 59),
    line,
  });
});

it('writes the line of an Ed25519 key', () => {
  expect(ed25519Line(keyOf(LINE).key, 'test')).toEqual({ line: LINE, blob: BLOB });
});

const rsaBlob = (modulus: Buffer, exponent = Buffer.from([1, 0, 1])): Buffer =>
  Buffer.concat([wireString('ssh-rsa'), mpint(exponent), mpint(modulus)]);
const lineOf = (type: string, blob: Buffer): string => `${type} ${blob.toString('base64')}`;
const curve = 'ecdsa-sha2-nistp256';
const point = (bytes: Buffer, named = 'nistp256'): string =>
  lineOf(curve, Buffer.concat([wireString(curve), wireString(named), wireString(bytes)]));

it.each<[string, () => string, string, number?]>([
  ['nothing', () => '', 'not a public key'],
  ['a private key', () => '-----BEGIN OPENSSH PRIVATE KEY-----', 'not a public key'],
  ['a key that is cut', () => LINE.slice(0, 40), 'not a public key'],
  [
    'a key with something behind',
    () => lineOf('ssh-ed25519', Buffer.concat([BLOB, Buffer.alloc(1)])),
    'not a public key',
  ],
  ['a key under another type', () => LINE.replace('ssh-ed25519', 'ssh-rsa'), 'not a public key'],
  ['a type with its key missing', () => 'ssh-ed25519', 'not a public key'],
  ['base64 with another end', () => LINE.replace(/(.) test$/, '$1= test'), 'not a public key'],
  ['a certificate', () => 'ssh-ed25519-cert-v01@openssh.com AAAA', 'certificates are not taken'],
  [
    'a certificate as a key',
    () => lineOf('ssh-ed25519', wireString('ssh-ed25519-cert-v01@openssh.com')),
    'certificates are not taken',
  ],
  ['who may issue certificates', () => `cert-authority ${LINE}`, 'certificates are not taken'],
  ['DSA', () => lineOf('ssh-dss', wireString('ssh-dss')), `keys of type 'ssh-dss' are not taken`],
  ['a type of a property of objects', () => lineOf('ssh-toString', wireString('toString')), 'are not taken'],
  [
    'a short RSA key',
    () => newSigner('ssh-rsa', { bits: 1024 }).line,
    'this RSA key has 1024 bits; the least is 2048',
  ],
  ['an RSA key one bit short', () => lineOf('ssh-rsa', rsaBlob(Buffer.alloc(256, 0x7f))), 'has 2047 bits'],
  [
    'a huge RSA key',
    () => lineOf('ssh-rsa', rsaBlob(Buffer.alloc(2049, 0xff))),
    'has 16392 bits; the most is 16384',
  ],
  [
    'an RSA key with exponent 1',
    () => lineOf('ssh-rsa', rsaBlob(Buffer.alloc(256, 0xff), Buffer.from([1]))),
    'exponent',
  ],
  [
    'an RSA key with a huge exponent',
    () => lineOf('ssh-rsa', rsaBlob(Buffer.alloc(256, 0xff), Buffer.alloc(256, 0x7f))),
    'exponent',
  ],
  [
    'a point that is not on its curve',
    () => point(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)])),
    'not a public key',
  ],
  [
    'a compressed point',
    () => point(Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 1)])),
    'not a public key',
  ],
  ['a curve of another name', () => point(Buffer.alloc(65, 4), 'nistp384'), 'not a public key'],
  [
    'a security key for a web site',
    () => newSigner('sk-ssh-ed25519@openssh.com', { application: 'example.com' }).line,
    'does not begin with ssh:',
  ],
  ['an unknown option', () => `no-touch-required ${LINE}`, `there is no option 'no-touch-required'`],
  ['names before the key', () => `anna@example.com ${LINE}`, `there is no option 'anna@example.com'`],
  ['an option without a value', () => `namespaces ${LINE}`, `'namespaces' needs a value`],
  ['an option without quotes', () => `valid-after=20260101Z ${LINE}`, 'not a public key'],
  ['an option that does not end', () => `namespaces="countersign ${LINE}`, 'not a public key'],
  ['an option twice', () => `namespaces="a",namespaces="b" ${LINE}`, 'is given twice', 15],
  ['a pattern of namespaces', () => `namespaces="*" ${LINE}`, 'without patterns'],
  ['an empty namespace', () => `namespaces="" ${LINE}`, 'without patterns'],
  ['a day that there is none of', () => `valid-after="20260230Z" ${LINE}`, 'times are YYYYMMDDZ'],
  ['a time in local time', () => `namespaces="a",valid-after="20260101" ${LINE}`, 'has to end in Z', 15],
  [
    'a time before its beginning',
    () => `valid-after="20260102Z",valid-before="20260101Z" ${LINE}`,
    'never valid',
    24,
  ],
  ['two lines', () => `${LINE}\n${LINE}`, 'a key is one line'],
])('refuses %s', (_case, ...[line, why, at]) => {
  expect(readKeyLine(line())).toEqual({
    ok: false,
    why: expect.stringContaining(why),
    at: at ?? expect.any(Number),
  });
});

it('never throws, whatever the line or the bytes', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (line) => expect(readKeyLine(line).ok).toBe(false)));
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => expect(readSshPublicKey(Buffer.from(bytes)).ok).toBe(false)),
  );
  fc.assert(
    fc.property(fc.nat(BLOB.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const blob = Buffer.from(BLOB);
      blob[at] = (blob[at] ?? 0) ^ change;
      const read = readSshPublicKey(blob);
      expect(read.ok && read.key.blob.equals(BLOB)).toBe(false);
    }),
  );
});
