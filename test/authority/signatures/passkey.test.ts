import { readPasskeyLine } from '../../../src/authority/signatures/passkey';
import { newPasskey } from '../../support/passkey';

const [anna, edwards, rsa] = [newPasskey(), newPasskey('EdDSA'), newPasskey('RS256')];
const [, id = '', key = ''] = anna.line.split(' ');

/** The same key, with bytes behind its end. */
const longer = (text: string): string =>
  Buffer.concat([Buffer.from(text, 'base64url'), Buffer.alloc(3)]).toString('base64url');

it.each([
  ['ES256', anna.line],
  ['EdDSA', edwards.line],
  ['RS256', rsa.line],
  ['with a comment', `${anna.line} Anna's laptop ✓`],
])('reads the line of a passkey: %s', (_, line) => {
  expect(readPasskeyLine(line)).toMatchObject({
    ok: true,
    passkey: { line, fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/) },
  });
});

it.each<[string, string, number, RegExp]>([
  ['nothing', '', 0, /not the line of a passkey/],
  ['an SSH key', 'ssh-ed25519 AAAA', 0, /not the line of a passkey/],
  ['an id with padding', `passkey YQ== ${key}`, 8, /not the line of a passkey/],
  ['an id too long', `passkey ${'A'.repeat(1368)} ${key}`, 8, /not the line of a passkey/],
  ['no key', `passkey ${id}`, 9 + id.length, /no public key/],
  ['a key that is none', `passkey ${id} AAAA`, 9 + id.length, /no public key/],
  ['bytes after the key', `passkey ${id} ${longer(key)}`, 9 + id.length, /no public key/],
  ['two spaces', `passkey ${id}  ${key}`, 9 + id.length, /no public key/],
  ['two lines', `${anna.line}\nx`, 0, /one line/],
  ['another curve', newPasskey('ES384').line, 31, /the curve/],
  ['a small RSA key', newPasskey('small').line, 31, /1024 bits/],
])('says what is wrong with a line: %s', (_, line, at, why) => {
  expect(readPasskeyLine(line)).toEqual({ ok: false, at, why: expect.stringMatching(why) });
});
