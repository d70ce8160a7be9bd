import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readKeyLine, type SignerKey } from '../../../src/authority/signatures/ssh-key';
import { verifySshSignature } from '../../../src/authority/signatures/ssh-signature';
import { wireString } from '../../../src/authority/signatures/ssh-wire';
import { scratchDirectory } from '../../support/scratch';
import {
  KEY_KINDS,
  armor,
  type Changes,
  dearmor,
  newSigner,
  type SignerType,
  SIGNERS,
  sshKeygen,
  type TestSigner,
} from '../../support/ssh';
import { runs } from '../../support/properties';
import { needs } from '../../support/parts';

type SshVerdict = ReturnType<typeof verifySshSignature>;

type SshCheck = Parameters<typeof verifySshSignature>[0];

needs('ssh');

const scratch = scratchDirectory();
const MESSAGE = Buffer.from('{"decision":"approved"}');
const NOW = Date.UTC(2026, 10, 24, 12);

const signers = new Map<string, TestSigner>(SIGNERS.map((type) => [type, newSigner(type)]));
const signer = (type: SignerType = 'ssh-ed25519'): TestSigner => signers.get(type) ?? newSigner(type);

const read = new Map<string, SignerKey>();
const keyOf = (line: string): SignerKey => {
  const known = read.get(line);
  if (known !== undefined) return known;
  const now = readKeyLine(line);
  if (!now.ok) throw new Error(now.why);
  read.set(line, now.key);
  return now.key;
};

const verdictOn = (armored: string, changes: Partial<SshCheck> & { line?: string } = {}): SshVerdict => {
  const { line = signer().line, ...check } = changes;
  const expected = { message: MESSAGE, namespace: 'countersign', requireTouch: true, moments: [NOW] };
  return verifySshSignature({ armored, keys: [keyOf(line)], ...expected, ...check });
};

const SK = 'sk-ssh-ed25519@openssh.com';
const SK_ECDSA = 'sk-ecdsa-sha2-nistp256@openssh.com';

describe.each(SIGNERS)('%s', (type) => {
  const { line, sign } = signer(type);

  it.each(['sha256', 'sha512'])('counts over %s', (hash) => {
    expect(verdictOn(sign(MESSAGE, { hash }), { line })).toEqual({
      ok: true,
      fingerprint: keyOf(line).fingerprint,
      isHardware: type.startsWith('sk-'),
      isUserVerified: false,
    });
  });

  it('is what ssh-keygen takes as well', () => {
    const [allowed, file] = [join(scratch(), 'allowed'), join(scratch(), 'signature')];
    writeFileSync(allowed, `anna ${line}\n`);
    writeFileSync(file, sign(MESSAGE));
    const args = ['-Y', 'verify', '-n', 'countersign', '-I', 'anna', '-f', allowed, '-s', file];
    expect(sshKeygen(args, MESSAGE.toString())).toContain('Good "countersign" signature for anna');
  });

  it('counts for nothing with any byte of the signature or the message changed', () => {
    const [blob, change] = [dearmor(sign(MESSAGE)), fc.integer({ min: 1, max: 255 })];
    const flipped = (bytes: Buffer, at: number, by: number): Buffer => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ by;
      return copy;
    };
    for (let at = 0; at < blob.length; at++)
      expect([at, verdictOn(armor(flipped(blob, at, 1)), { line }).ok]).toEqual([at, false]);
    fc.assert(
      fc.property(fc.nat(blob.length - 1), change, (at, by) => {
        expect(verdictOn(armor(flipped(blob, at, by)), { line }).ok).toBe(false);
      }),
    );
    fc.assert(
      fc.property(fc.nat(MESSAGE.length - 1), change, (at, by) => {
        const message = flipped(MESSAGE, at, by);
        expect(verdictOn(armor(blob), { line, message })).toMatchObject({ ok: false, why: 'does_not_match' });
      }),
    );
  });

  it('counts for nothing where it is cut off', () => {
    const blob = dearmor(sign(MESSAGE));
    for (let length = 0; length < blob.length; length++)
      expect(verdictOn(armor(blob.subarray(0, length)), { line })).toEqual({ ok: false, why: 'malformed' });
  });
});

it.each(KEY_KINDS)('takes what ssh-keygen signs: %s %j', (type, more) => {
  const file = join(scratch(), 'key');
  sshKeygen(['-q', '-t', type, ...more, '-N', '', '-f', file]);
  const line = readFileSync(`${file}.pub`, 'utf8').trim();
  for (const hash of ['sha256', 'sha512']) {
    const args = ['-Y', 'sign', '-n', 'countersign', '-O', `hashalg=${hash}`, '-f', file];
    const armored = sshKeygen(args, MESSAGE.toString());
    expect(verdictOn(armored, { line })).toMatchObject({ ok: true, isHardware: false });
    expect(verdictOn(armored.replaceAll('\n', '\r\n'), { line })).toMatchObject({ ok: true });
    expect(
      verdictOn(sshKeygen(['-Y', 'sign', '-n', 'git', '-f', file], MESSAGE.toString()), { line }),
    ).toMatchObject({ why: 'wrong_namespace' });
  }
});

it('refuses a real certificate', () => {
  const at = (name: string): string => join(scratch(), name);
  mkdirSync(scratch(), { recursive: true });
  for (const name of ['ca', 'key']) sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  sshKeygen(['-q', '-s', at('ca'), '-I', 'anna', '-n', 'anna', at('key.pub')]);
  const line = readFileSync(at('key.pub'), 'utf8').trim();
  const certificate = readFileSync(at('key-cert.pub'), 'utf8').split(' ')[1] ?? '';
  const parts = dearmor(sshKeygen(['-Y', 'sign', '-n', 'countersign', '-f', at('key')], MESSAGE.toString()));
  const rest = parts.subarray(10 + 4 + parts.readUInt32BE(10));
  const withCertificate = Buffer.concat([
    parts.subarray(0, 10),
    wireString(Buffer.from(certificate, 'base64')),
    rest,
  ]);
  expect(verdictOn(armor(withCertificate), { line })).toEqual({ ok: false, why: 'certificate' });
});

const other = newSigner('ssh-ed25519');
const short = newSigner('ssh-rsa', { bits: 1024 });
const withOptions = (options: string): string => `${options} ${signer().line}`;

it.each<[string, string, Changes | string, Partial<SshCheck> & { line?: string }, SignerType?]>([
  ['another namespace', 'wrong_namespace', { namespace: 'git' }, {}],
  ['the namespace of the web inbox', 'wrong_namespace', { namespace: 'countersign-inbox' }, {}],
  ['a namespace in capitals', 'wrong_namespace', { namespace: 'Countersign' }, {}],
  ['another message', 'does_not_match', {}, { message: Buffer.from('{"decision":"denied"}') }],
  ['a key that is not listed', 'unknown_key', other.sign(MESSAGE), {}],
  ['no listed key', 'unknown_key', {}, { keys: [] }],
  [
    'a listed key whose signature is another’s',
    'does_not_match',
    other.sign(MESSAGE, { blob: signer().blob }),
    {},
  ],
  ['a key that is not valid yet', 'key_not_yet_valid', {}, { line: withOptions('valid-after="20261125Z"') }],
  ['a key that is no longer valid', 'key_expired', {}, { line: withOptions('valid-before="20261123Z"') }],
  [
    'a key that was valid at one moment only',
    'key_expired',
    {},
    { line: withOptions('valid-before="20261124Z"'), moments: [NOW - 86_400_000, NOW] },
  ],
  ['a key for other uses', 'key_for_other_use', {}, { line: withOptions('namespaces="git"') }],
  ['a security key that nobody touched', 'not_touched', { flags: 0 }, {}, SK],
  ['a security key with a PIN and no touch', 'not_touched', { flags: 4 }, {}, SK_ECDSA],
  ['RSA with SHA-1', 'weak_key', { algorithm: 'ssh-rsa' }, {}, 'ssh-rsa'],
  ['a short RSA key', 'weak_key', short.sign(MESSAGE), {}],
  ['another version', 'malformed', { version: 2 }, {}],
  ['reserved bytes', 'malformed', { reserved: 'x' }, {}],
  ['MD5', 'malformed', { hash: 'md5' }, {}],
  ['something behind its end', 'malformed', { trailing: 'x' }, {}],
  ['an algorithm of another key', 'malformed', { algorithm: 'ecdsa-sha2-nistp256' }, {}],
  ['another magic', 'malformed', armor(Buffer.from('SSHSIX')), {}],
  ['no armor', 'malformed', dearmor(signer().sign(MESSAGE)).toString('base64'), {}],
  ['PGP', 'malformed', '-----BEGIN PGP SIGNATURE-----\nAAAA\n-----END PGP SIGNATURE-----\n', {}],
  ['nothing', 'malformed', '', {}],
  ['two signatures', 'malformed', signer().sign(MESSAGE).repeat(2), {}],
  ['text before the armor', 'malformed', ` ${signer().sign(MESSAGE)}`, {}],
  ['a megabyte', 'too_large', armor(Buffer.alloc(1_000_000)), {}],
])('refuses %s', (_case, ...[why, changes, check, type = 'ssh-ed25519']) => {
  const { line, sign } = signer(type);
  const armored = typeof changes === 'string' ? changes : sign(MESSAGE, changes);
  expect(verdictOn(armored, { line, ...check })).toMatchObject({ ok: false, why });
});

it.each<[string, Partial<SshCheck> & { line?: string }]>([
  ['a key that is listed for it', { line: withOptions('namespaces="git,countersign"') }],
  ['a key at the first moment of its time', { line: withOptions('valid-after="20261124120000Z"') }],
  ['a key at the last moment of its time', { line: withOptions('valid-before="20261124120000Z"') }],
  ['one of several keys', { keys: [keyOf(other.line), keyOf(signer().line)] }],
])('takes %s', (_case, check) => {
  expect(verdictOn(signer().sign(MESSAGE), check)).toMatchObject({ ok: true });
});

it('says when a security key asked for a PIN, and needs a touch only where that is asked', () => {
  const { line, sign } = signer(SK);
  expect(verdictOn(sign(MESSAGE, { flags: 5 }), { line })).toMatchObject({ ok: true, isUserVerified: true });
  expect(verdictOn(sign(MESSAGE, { flags: 0 }), { line, requireTouch: false })).toMatchObject({ ok: true });
});

it('does not take the signature of a security key made for something else', () => {
  const { blob } = signer(SK);
  const elsewhere = newSigner(SK, { application: 'ssh:other' });
  expect(verdictOn(elsewhere.sign(MESSAGE, { blob }), { line: signer(SK).line })).toMatchObject({
    why: 'does_not_match',
  });
});

it('never throws, and takes nothing of 10,000 random blobs', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.uint8Array({ maxLength: 600 }).map((bytes) => armor(Buffer.from(bytes))),
    fc
      .tuple(fc.uint8Array({ maxLength: 300 }), fc.array(fc.uint8Array({ maxLength: 100 })))
      .map(([first, parts]) =>
        armor(Buffer.concat([Buffer.from('SSHSIG\0\0\0\u0001'), first, ...parts.map(wireString)])),
      ),
  );
  fc.assert(
    fc.property(anything, (armored) => expect(verdictOn(armored).ok).toBe(false)),
    { numRuns: runs(10_000) },
  );
});
