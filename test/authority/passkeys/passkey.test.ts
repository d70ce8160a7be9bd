import { parseApprovers } from '../../../src/authority/approvers';
import { readPasskeyLine } from '../../../src/authority/passkeys/passkey';
import { CountersignError } from '../../../src/contract/errors';
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

const SITE = `rpId: inbox.example.com\norigins: [https://inbox.example.com]`;
const fileWith = (site: string, annas: readonly string[], bobs: readonly string[] = []): string =>
  `installation: '${'ab'.repeat(16)}'
${site}
people:
  anna: { passkeys: ${JSON.stringify(annas)} }
  bob: { passkeys: ${JSON.stringify(bobs)} }
rules: [{ name: default, then: by_safety }]
`;

it('says whose passkey is whose, and where they are used', () => {
  const file = parseApprovers(fileWith(SITE, [anna.line, rsa.line], [edwards.line]), 'a.yaml');
  expect(file.passkeysOf('anna').map((one) => one.id)).toEqual([anna.id, rsa.id]);
  expect(file.passkeysOf('eve')).toEqual([]);
  expect([anna, edwards, newPasskey()].map((one) => file.ownerOfPasskey(one.id))).toEqual([
    'anna',
    'bob',
    undefined,
  ]);
  expect(file.passkeySite).toEqual({ rpId: 'inbox.example.com', origins: ['https://inbox.example.com'] });
});

const withId = `passkey ${id} ${edwards.line.split(' ')[2] ?? ''}`;
const withKey = `passkey ${edwards.id} ${key}`;

it.each<[string, string, string]>([
  ['a malformed line', fileWith(SITE, ['passkey x']), `5:31: this is not the line of a passkey`],
  [
    'one passkey of two people',
    fileWith(SITE, [anna.line], [anna.line]),
    "6:22: this passkey is that of anna, too: one is one person's",
  ],
  [
    'one id of two people',
    fileWith(SITE, [anna.line], [withId]),
    "6:22: this passkey is that of anna, too: one is one person's",
  ],
  [
    'one key of two people',
    fileWith(SITE, [anna.line], [withKey]),
    "6:22: this passkey is that of anna, too: one is one person's",
  ],
  ['a passkey twice', fileWith(SITE, [anna.line, anna.line]), 'this passkey is listed twice'],
  [
    'no site',
    fileWith('groups: {}', [anna.line]),
    '4:21: passkeys need `rpId` and `origins` of the web inbox',
  ],
  ['no origins', fileWith('rpId: a.example', []), '2:7: `origins` is missing: passkeys need both'],
  ['no rpId', fileWith('origins: [https://a.example]', []), '2:10: `rpId` is missing: passkeys need both'],
  [
    'an rpId that is an address',
    fileWith('rpId: https://a.example\norigins: [https://a.example]', []),
    '2:7: `rpId` must be a domain',
  ],
  ...['com', 'a..example', '127.0.0.1', '-a.example'].map((rpId): [string, string, string] => [
    `an rpId that is not a domain: ${rpId}`,
    fileWith(`rpId: '${rpId}'\norigins: [https://${rpId}]`, []),
    '2:8: `rpId` must be a domain',
  ]),
  [
    'an origin of another domain',
    fileWith('rpId: a.example\norigins: [https://aa.example]', []),
    "3:11: 'https://aa.example' is not an address of a.example",
  ],
  [
    'an origin that only ends alike',
    fileWith('rpId: a.example\norigins: [https://ba.example]', []),
    "'https://ba.example' is not an address",
  ],
  [
    'an origin without https',
    fileWith('rpId: a.example\norigins: [http://a.example]', []),
    "'http://a.example' is not an address",
  ],
  [
    'an origin with a path',
    fileWith('rpId: a.example\norigins: [https://a.example/]', []),
    "'https://a.example/' is not an address",
  ],
])('names line and column of a mistake: %s', (_, text, mistake) => {
  const parse = (): unknown => parseApprovers(text, 'a.yaml');
  expect(parse).toThrow(CountersignError);
  expect(parse).toThrow(expect.objectContaining({ message: expect.stringContaining(mistake) }));
});

it.each([
  ['rpId: localhost\norigins: [http://localhost:7300]'],
  ['rpId: example.com\norigins: [https://inbox.example.com, https://example.com:8443]'],
])('takes the addresses of a site: %s', (site) => {
  expect(parseApprovers(fileWith(site, []), 'a.yaml').passkeySite).toBeDefined();
});
