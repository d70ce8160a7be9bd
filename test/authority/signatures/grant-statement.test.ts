import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { assuranceOf } from '../../../src/authority/signatures/vote-signature';
import { assuranceOfGrant, signedGrantText } from '../../../src/authority/signatures/grant-statement';
import { GRANT_NAMESPACE, SIGNATURE_NAMESPACE } from '../../../src/authority/signatures/ssh-signature';
import { readStatement, statementOf, statementText } from '../../../src/authority/signatures/statement';
import type { GrantAsked } from '../../../src/authority/grants/grant';
import { newPasskey, type PasskeyChanges, SITE } from '../../support/passkey';
import { newSigner } from '../../support/ssh';
import { AT, FACTS, VOTE } from './signed';

const anna = newSigner('ssh-ed25519');
const bob = newSigner('ssh-ed25519');
const narrow = newSigner('ssh-ed25519');
const approvers = parseApprovers(
  `installation: '${FACTS.installation}'
people:
  anna: { keys: ${JSON.stringify([anna.line, `namespaces="countersign" ${narrow.line}`])} }
  bob: { keys: ${JSON.stringify([bob.line])} }
rules: [{ name: default, then: by_safety }]
`,
  'approvers.yaml',
);
const iso = (ms: number): string => new Date(ms).toISOString();
const PLACE = { installation: FACTS.installation, namespace: 'default' };
const JUDGE = { ...PLACE, approvers, now: AT + 1000 };
const TERMS: GrantAsked = {
  ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'clerk', tool: 'pay', toolDigest: 'a'.repeat(64) },
  ...{ ruleDigest: 'b'.repeat(64), policyDigest: '', narrowing: { cents: { is: 'equal', value: 5 } } },
  ...{ times: 3, at: iso(AT), until: iso(AT + 1_800_000), by: 'anna' },
};

const giver = ({ by, at, signature }: GrantAsked) => ({ voter: by, at, ...(signature && { signature }) });

interface Case {
  /** What the grant says, in place of what was signed. */
  said?: Partial<GrantAsked>;
  signer?: typeof anna;
  namespace?: string;
  now?: number;
  text?: string;
}

function judged({ said, signer = anna, namespace = GRANT_NAMESPACE, now = JUDGE.now, text }: Case) {
  const armored = signer.sign(text ?? signedGrantText(TERMS, PLACE), { namespace });
  const signature = { kind: 'ssh' as const, armored, at: TERMS.at, notAfter: TERMS.until };
  const grant = { ...TERMS, signature, ...said };
  return assuranceOfGrant(grant, giver(grant), { ...JUDGE, now });
}

it('counts the signature of its giver, and nothing more without one', () => {
  expect(judged({})).toMatchObject({ ok: true, assurance: 'signed_ssh', voter: 'anna' });
  expect(assuranceOfGrant(TERMS, giver(TERMS), JUDGE)).toEqual({ ok: true, assurance: 'claimed' });
});

const call = statementOf(FACTS, VOTE);
if (call === undefined) throw new Error('not a statement');

it.each<[string, Case, string]>([
  ['more uses', { said: { times: 4 } }, 'does_not_match'],
  ['another end', { said: { until: iso(AT + 3_600_000) } }, 'vote_changed'],
  ['other arguments', { said: { narrowing: { cents: { is: 'range', max: 5 } } } }, 'does_not_match'],
  ['another agent', { said: { agent: 'boss' } }, 'does_not_match'],
  ['another version of the tool', { said: { toolDigest: 'c'.repeat(64) } }, 'does_not_match'],
  ['another rule', { said: { ruleDigest: '' } }, 'does_not_match'],
  ['another id', { said: { id: '00000000-0000-4000-8000-000000000002' } }, 'does_not_match'],
  ['another giver', { said: { by: 'bob' } }, 'other_persons_key'],
  ['a stranger', { said: { by: 'eve' } }, 'unknown_person'],
  ['the key of somebody else', { signer: bob }, 'other_persons_key'],
  ['a key for decisions alone', { signer: narrow }, 'key_for_other_use'],
  ['the namespace of decisions', { namespace: SIGNATURE_NAMESPACE }, 'wrong_namespace'],
  ['the text of a decision', { text: statementText(call) }, 'does_not_match'],
  ['another cluster', { text: signedGrantText(TERMS, { ...PLACE, namespace: 'other' }) }, 'does_not_match'],
  ['a grant that is over', { now: AT + 1_800_000 }, 'expired'],
  ['a date far ahead', { now: AT - 11 * 60_000 }, 'in_future'],
])('refuses a signature for %s', (_case, one, why) => {
  expect(judged(one)).toEqual({ ok: false, why });
});

it('never serves as a decision', () => {
  const text = signedGrantText(TERMS, PLACE);
  expect(readStatement(text)).toBeUndefined();
  const { decision, reason, approver, at, notAfter, seenDigest } = call;
  for (const namespace of [GRANT_NAMESPACE, SIGNATURE_NAMESPACE]) {
    const signature = { kind: 'ssh', armored: anna.sign(text, { namespace }) };
    const vote = { decision, reason, approver: 'anna', at, notAfter, seenDigest, signature };
    expect(approver).toBeDefined();
    expect(assuranceOf(vote, { facts: FACTS, approvers, now: AT })).toMatchObject({ ok: false });
  }
});

describe('a confirmation', () => {
  const at = iso(AT + 500);
  const says = { voter: 'bob', at };
  const judge = (text: string, said: Partial<typeof says> = {}, signer = bob) => {
    const armored = signer.sign(text, { namespace: GRANT_NAMESPACE });
    const vote = { ...says, ...said };
    const signature = { kind: 'ssh' as const, armored, at: vote.at, notAfter: TERMS.until };
    return assuranceOfGrant(TERMS, { ...vote, signature }, JUDGE);
  };

  it('is over the grant, and who confirms it when', () => {
    expect(judge(signedGrantText(TERMS, PLACE, says))).toMatchObject({ ok: true, voter: 'bob' });
  });

  it.each<[string, string, Partial<typeof says>, typeof anna, string]>([
    ['by who gave it', signedGrantText(TERMS, PLACE), {}, anna, 'other_persons_key'],
    ['over the grant alone', signedGrantText(TERMS, PLACE), {}, bob, 'does_not_match'],
    ['of another time', signedGrantText(TERMS, PLACE, says), { at: iso(AT + 600) }, bob, 'does_not_match'],
    [
      'in the name of who gave it',
      signedGrantText(TERMS, PLACE, says),
      { voter: 'anna' },
      anna,
      'does_not_match',
    ],
    ['of another grant', signedGrantText({ ...TERMS, times: 4 }, PLACE, says), {}, bob, 'does_not_match'],
  ])('does not count %s', (_case, text, said, signer, why) => {
    expect(judge(text, said, signer)).toEqual({ ok: false, why });
  });
});

describe('signed by a passkey', () => {
  const [own, others, gone] = [newPasskey(), newPasskey('EdDSA'), newPasskey('RS256')];
  const file = parseApprovers(
    `installation: '${FACTS.installation}'
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
people:
  anna: { passkeys: ${JSON.stringify([own.line])} }
  bob: { passkeys: ${JSON.stringify([others.line])} }
rules: [{ name: default, then: by_safety }]
`,
    'approvers.yaml',
  );
  interface Signed {
    said?: Partial<GrantAsked>;
    signer?: typeof own;
    text?: string;
    changes?: PasskeyChanges;
    now?: number;
  }
  const judge = ({
    said,
    signer = own,
    text = signedGrantText(TERMS, PLACE),
    changes,
    now = JUDGE.now,
  }: Signed) => {
    const armored = signer.sign(text, changes);
    const signature = { kind: 'passkey' as const, armored, at: TERMS.at, notAfter: TERMS.until };
    const grant = { ...TERMS, signature, ...said };
    return assuranceOfGrant(grant, giver(grant), { ...PLACE, approvers: file, now });
  };

  test('it counts as signed, and not as signed at a terminal', () => {
    expect(judge({})).toMatchObject({ ok: true, assurance: 'signed', voter: 'anna' });
  });

  test('a confirmation names who confirms and when', () => {
    const says = { voter: 'bob', at: iso(AT + 500) };
    const armored = others.sign(signedGrantText(TERMS, PLACE, says));
    const signature = { kind: 'passkey' as const, armored, at: says.at, notAfter: TERMS.until };
    const place = { ...PLACE, approvers: file, now: JUDGE.now };
    expect(assuranceOfGrant(TERMS, { ...says, signature }, place)).toMatchObject({ assurance: 'signed' });
    const later = { ...says, at: iso(AT + 600) };
    const moved = { ...signature, at: later.at };
    expect(assuranceOfGrant(TERMS, { ...later, signature: moved }, place)).toMatchObject({
      why: 'does_not_match',
    });
  });

  test.each<[string, Signed, string]>([
    ['more uses', { said: { times: 4 } }, 'does_not_match'],
    ['other arguments', { said: { narrowing: { cents: { is: 'range', max: 5 } } } }, 'does_not_match'],
    ['another grant', { said: { id: '00000000-0000-4000-8000-000000000002' } }, 'does_not_match'],
    ['another rule', { said: { ruleDigest: '' } }, 'does_not_match'],
    ['another end', { said: { until: iso(AT + 3_600_000) } }, 'vote_changed'],
    ['another giver', { said: { by: 'bob' } }, 'other_persons_key'],
    ['a stranger', { said: { by: 'eve' } }, 'unknown_person'],
    ['the passkey of somebody else', { signer: others }, 'other_persons_key'],
    ['a passkey that is not in the file', { signer: gone }, 'key_removed'],
    ['the text of a decision', { text: statementText(call) }, 'does_not_match'],
    ['another cluster', { text: signedGrantText(TERMS, { ...PLACE, namespace: 'other' }) }, 'does_not_match'],
    ['another page', { changes: { origin: 'https://evil.example.com' } }, 'wrong_origin'],
    ['a page within another', { changes: { client: { crossOrigin: true } } }, 'wrong_origin'],
    ['another domain', { changes: { rpId: 'evil.example.com' } }, 'wrong_site'],
    ['nobody there', { changes: { flags: 0x04 } }, 'not_present'],
    ['nobody asked who was there', { changes: { flags: 0x01 } }, 'not_verified'],
    ['the making of a passkey', { changes: { type: 'webauthn.create' } }, 'wrong_use'],
    ['a grant that is over', { now: AT + 1_800_000 }, 'expired'],
    ['a date far ahead', { now: AT - 11 * 60_000 }, 'in_future'],
  ])('it is refused for %s', (_what, one, why) => {
    expect(judge(one)).toEqual({ ok: false, why });
  });
});
