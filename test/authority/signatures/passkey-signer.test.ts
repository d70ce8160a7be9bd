import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { signedGrantText } from '../../../src/authority/signatures/grant-statement';
import { passkeyGrantSigner } from '../../../src/authority/signatures/passkey-signer';
import type { GrantTerms } from '../../../src/authority/grants/grant';
import { newPasskey, SITE } from '../../support/passkey';

const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const [anna, bob] = [newPasskey(), newPasskey('EdDSA')];
const fileWith = (site: string, passkeys: readonly string[]) =>
  parseApprovers(
    `installation: '${INSTALLATION}'
${site}
people:
  anna: { mail: anna@example.com, passkeys: ${JSON.stringify(passkeys)} }
  bob: { passkeys: ${JSON.stringify(site === '' ? [] : [bob.line])} }
rules: [{ name: default, then: by_safety }]
`,
    'approvers.yaml',
  );
const AT_SITE = `rpId: ${SITE.rpId}\norigins: ['${SITE.origin}']`;
const file = fileWith(AT_SITE, [anna.line]);
const signerOf = (approvers = file) => passkeyGrantSigner({ current: async () => approvers });

const iso = (ms: number): string => new Date(Date.now() + ms).toISOString();
const TERMS: GrantTerms = {
  ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'clerk', tool: 'pay', toolDigest: 'a'.repeat(64) },
  ...{ ruleDigest: 'b'.repeat(64), policyDigest: '', narrowing: { cents: { is: 'equal', value: 5 } } },
  ...{ times: 3, at: iso(0), until: iso(1_800_000), by: 'anna' },
};
const GIVEN = { terms: TERMS, namespace: 'default', user: 'anna@example.com' };
const CONFIRMED = { ...GIVEN, user: 'bob', says: { voter: 'bob', at: iso(100) } };
const PLACE = { installation: INSTALLATION, namespace: 'default' };

test.each([
  ['who gives a grant', GIVEN, anna],
  ['who confirms it', CONFIRMED, bob],
])('asks %s to sign exactly what the worker checks, and takes it', async (_who, grant, passkey) => {
  const ask = await signerOf().ask(grant);
  expect(ask).toMatchObject({ rpId: SITE.rpId, ids: [passkey.id] });
  expect(ask?.sentence).toMatch(/^Allows clerk to run pay .*up to 3 calls/);
  expect(ask?.statement).toBe(
    signedGrantText(TERMS, PLACE, grant === CONFIRMED ? CONFIRMED.says : undefined),
  );
  const assertion = passkey.sign(ask?.statement ?? '');
  const { at } = grant === CONFIRMED ? CONFIRMED.says : TERMS;
  expect(await signerOf().take(grant, { assertion })).toEqual({
    ...{ kind: 'passkey', armored: assertion, at, notAfter: TERMS.until },
  });
});

test.each<[string, object, ReturnType<typeof fileWith>]>([
  ['somebody whom the grant does not name', { user: 'bob' }, file],
  ['a stranger', { user: 'eve' }, file],
  ['somebody without a passkey', {}, fileWith(AT_SITE, [])],
  ['anybody where the file has no place for passkeys', {}, fileWith('', [])],
])('does not ask %s', async (_who, part, approvers) => {
  expect(await signerOf(approvers).ask({ ...GIVEN, ...part })).toBeUndefined();
});

const signed = (terms: GrantTerms): string => signedGrantText(terms, PLACE);

test.each<[string, object, string, RegExp]>([
  ['for more calls', {}, anna.sign(signed({ ...TERMS, times: 4 })), /not a signature over this grant/],
  ['for another tool', {}, anna.sign(signed({ ...TERMS, tool: 'wire' })), /not a signature over this grant/],
  ['for another rule', {}, anna.sign(signed({ ...TERMS, ruleDigest: '' })), /not a signature over this/],
  ['of another namespace', { namespace: 'other' }, anna.sign(signed(TERMS)), /not a signature over this/],
  ['by somebody else', {}, bob.sign(signed(TERMS)), /somebody else's key/],
  ['on another page', {}, anna.sign(signed(TERMS), { origin: 'https://evil.example.com' }), /another page/],
  ['where nobody was asked', {}, anna.sign(signed(TERMS), { flags: 1 }), /who was there/],
  ['in the name of somebody else', { user: 'bob' }, bob.sign(signed(TERMS)), /not in the approvers file/],
  ['that is none', {}, 'x.y.z.w', /not in its form/],
  [
    'of an hour ago',
    { terms: { ...TERMS, at: iso(-3_600_000) } },
    anna.sign(signed({ ...TERMS, at: iso(-3_600_000) })),
    /on the grant does not count: it is too old to be sent/,
  ],
  [
    'of a time that is none',
    { user: 'bob', says: { voter: 'bob', at: 'today' } },
    bob.sign(signedGrantText(TERMS, PLACE, { voter: 'bob', at: 'today' })),
    /on the grant does not count: it is too old to be sent/,
  ],
])('refuses a signature %s', async (_what, part, assertion, why) => {
  await expect(signerOf().take({ ...GIVEN, ...part }, { assertion })).rejects.toMatchObject({
    code: 'signature_needed',
    message: expect.stringMatching(why),
    hint: expect.stringMatching(/^Nothing was decided/),
  });
});
