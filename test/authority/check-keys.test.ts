import { parseApprovers } from '../../src/authority/approvers';
import { CountersignError } from '../../src/contract/errors';
import { newPasskey, SITE } from '../support/passkey';
import { newSigner } from '../support/ssh';

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
