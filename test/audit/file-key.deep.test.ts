import { generateKeyPairSync } from 'node:crypto';
import { keyId, makeKeys, publicKeyOf, readPrivateKey, readAuditKeyId } from '../../src/audit/file-key';
import { startNode } from '../cli/process';
import { ensureBuilt, lib } from '../support/build';

const made = makeKeys();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaPublic = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const rsaPrivate = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

it('makes a pair whose halves name the same key', () => {
  expect(made.id).toMatch(/^[0-9a-f]{64}$/);
  expect(keyId(readPrivateKey(made.privatePem, 'x'))).toBe(made.id);
  expect(readAuditKeyId(made.publicPem, 'x')).toBe(made.id);
  expect(keyId(publicKeyOf(made.id))).toBe(made.id);
});

it.each([
  ['its digits', made.id],
  ['its digits in capitals and with a newline', `${made.id.toUpperCase()}\n`],
])('reads a public key from %s', (_what, text) => {
  expect(readAuditKeyId(text, 'x')).toBe(made.id);
});

it.each([
  ['text', 'hello'],
  ['nothing', ''],
  ['another kind of key', rsaPublic],
  ['digits of another length', made.id.slice(2)],
])('refuses %s as a public key', (_what, text) => {
  expect(() => readAuditKeyId(text, 'k.pub')).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('k.pub') }),
  );
});

it.each([
  ['a public key', made.publicPem],
  ['another kind of key', rsaPrivate],
  ['text', 'hello'],
])('refuses %s as a private key, without a word of it', (_what, pem) => {
  expect(() => readPrivateKey(pem, 'k.key')).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.not.stringContaining(pem.slice(0, 20)),
    }),
  );
});

it('makes a pair wherever garbage is collected meanwhile', async () => {
  ensureBuilt();
  const keys = JSON.stringify(lib('audit/file-key.js'));
  const program = `for (let n = 0; n < 1000; n++) require(${keys}).makeKeys(); console.log('made')`;
  const { ended, signal } = startNode(['--gc-interval=37', '-e', program]);
  const timer = setTimeout(() => signal('SIGKILL'), 30_000);
  const how = await ended;
  clearTimeout(timer);
  expect(how).toMatchObject({ code: 0, out: 'made\n' });
});
