import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { CountersignError } from '../../../src/contract/errors';
import { newPasskey, SITE } from '../../support/passkey';
import { newSigner } from '../../support/ssh';

const [anna, inbox] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
const [first, second] = [newPasskey(), newPasskey()];
const fileWith = (revoked: string): string => `installation: 0123456789abcdef0123456789abcdef
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
inboxKeys: ['${inbox.line}']
people:
  anna: { keys: ['${anna.line}'], passkeys: ['${first.line}', '${second.line}'] }
rules: [{ name: default, then: by_safety }]
${revoked}`;
const parse = (revoked: string) => parseApprovers(fileWith(revoked), 'a.yaml');
const line = (key: string, since = '2026-11-20'): string => `{ key: '${key}', since: '${since}' }`;

it.each([
  ['an SSH key', anna.line, { keys: 0, passkeys: 2, inbox: 1 }],
  [
    'an SSH key with options and another comment',
    `namespaces="git" ${anna.line} old`,
    { keys: 0, passkeys: 2, inbox: 1 },
  ],
  ['a passkey', first.line, { keys: 1, passkeys: 1, inbox: 1 }],
  ['the key of a web inbox', inbox.line, { keys: 1, passkeys: 2, inbox: 0 }],
  ['a key that nobody has', newSigner('ssh-ed25519').line, { keys: 1, passkeys: 2, inbox: 1 }],
])('takes %s from who has it', (_what, key, left) => {
  const file = parse(`revoked: [${line(key)}]`);
  expect({
    keys: file.keysOf('anna').length,
    passkeys: file.passkeysOf('anna').length,
    inbox: file.inboxKeys.length,
  }).toEqual(left);
});

it('knows since when, by the id of a passkey too', () => {
  const { revoked } = parse(`revoked: [${line(first.line)}, ${line(anna.line, '2026-11-20T08:00:00Z')}]`);
  expect(revoked.since(first.id)).toBe('2026-11-20');
  expect(revoked.ssh.map(({ fingerprint }) => revoked.since(fingerprint))).toEqual(['2026-11-20T08:00:00Z']);
  expect(revoked.since(second.id)).toBeUndefined();
});

it.each([
  ['something that is no key', line('abc'), /8:19: this is not a public key/],
  ['something that is no passkey', line('passkey a b'), /8:27: this is not the line of a passkey/],
  ['a key twice', `${line(anna.line)}, ${line(anna.line)}`, /this key is listed twice/],
  ['no time', `{ key: '${anna.line}' }`, /must be a day such as/],
  ['a time that is none', line(anna.line, '2026-02-30'), /must be a day such as/],
  ['something else', `{ key: '${anna.line}', since: '2026-11-20', why: x }`, /why/],
])('refuses %s', (_what, revoked, why) => {
  const read = () => parse(`revoked: [${revoked}]`);
  expect(read).toThrow(CountersignError);
  expect(read).toThrow(why);
});

const withPeople = (site: string, annas: readonly string[], bobs: readonly string[] = []): string =>
  `installation: '${'ab'.repeat(16)}'
${site}
people:
  anna: { passkeys: ${JSON.stringify(annas)} }
  bob: { passkeys: ${JSON.stringify(bobs)} }
rules: [{ name: default, then: by_safety }]
`;

describe('passkeys', () => {
  const [anna, edwards, rsa] = [newPasskey(), newPasskey('EdDSA'), newPasskey('RS256')];
  const [, id = '', key = ''] = anna.line.split(' ');
  const SITE_LINES = `rpId: inbox.example.com\norigins: [https://inbox.example.com]`;
  it('says whose passkey is whose, and where they are used', () => {
    const file = parseApprovers(withPeople(SITE_LINES, [anna.line, rsa.line], [edwards.line]), 'a.yaml');
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
    ['a malformed line', withPeople(SITE_LINES, ['passkey x']), `5:31: this is not the line of a passkey`],
    [
      'one passkey of two people',
      withPeople(SITE_LINES, [anna.line], [anna.line]),
      "6:22: this passkey is that of anna, too: one is one person's",
    ],
    [
      'one id of two people',
      withPeople(SITE_LINES, [anna.line], [withId]),
      "6:22: this passkey is that of anna, too: one is one person's",
    ],
    [
      'one key of two people',
      withPeople(SITE_LINES, [anna.line], [withKey]),
      "6:22: this passkey is that of anna, too: one is one person's",
    ],
    ['a passkey twice', withPeople(SITE_LINES, [anna.line, anna.line]), 'this passkey is listed twice'],
    [
      'no site',
      withPeople('groups: {}', [anna.line]),
      '4:21: passkeys need `rpId` and `origins` of the web inbox',
    ],
    ['no origins', withPeople('rpId: a.example', []), '2:7: `origins` is missing: passkeys need both'],
    [
      'no rpId',
      withPeople('origins: [https://a.example]', []),
      '2:10: `rpId` is missing: passkeys need both',
    ],
    [
      'an rpId that is an address',
      withPeople('rpId: https://a.example\norigins: [https://a.example]', []),
      '2:7: `rpId` must be a domain',
    ],
    ...['com', 'a..example', '127.0.0.1', '-a.example'].map((rpId): [string, string, string] => [
      `an rpId that is not a domain: ${rpId}`,
      withPeople(`rpId: '${rpId}'\norigins: [https://${rpId}]`, []),
      '2:8: `rpId` must be a domain',
    ]),
    [
      'an origin of another domain',
      withPeople('rpId: a.example\norigins: [https://aa.example]', []),
      "3:11: 'https://aa.example' is not an address of a.example",
    ],
    [
      'an origin that only ends alike',
      withPeople('rpId: a.example\norigins: [https://ba.example]', []),
      "'https://ba.example' is not an address",
    ],
    [
      'an origin without https',
      withPeople('rpId: a.example\norigins: [http://a.example]', []),
      "'http://a.example' is not an address",
    ],
    [
      'an origin with a path',
      withPeople('rpId: a.example\norigins: [https://a.example/]', []),
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
    expect(parseApprovers(withPeople(site, []), 'a.yaml').passkeySite).toBeDefined();
  });
});
