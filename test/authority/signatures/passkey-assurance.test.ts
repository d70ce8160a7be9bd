import fc from 'fast-check';
import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import {
  assuranceOf,
  VOTE_FAULTS,
  type VoteJudgement,
} from '../../../src/authority/signatures/vote-signature';
import { statementText } from '../../../src/authority/signatures/statement';
import { isAssured } from '../../../src/authority/rules/stricter-rule';
import { LIMITS } from '../../../src/contract/limits';
import { newPasskey, type PasskeyChanges, SITE, type TestPasskey } from '../../support/passkey';
import { newSigner } from '../../support/ssh';
import { AT, FACTS, type Signed, statementWith } from './signed';
import { runs } from '../../support/properties';

const [anna, edwards, rsa, bob, removed] = [
  newPasskey(),
  newPasskey('EdDSA'),
  newPasskey('RS256'),
  newPasskey(),
  newPasskey(),
];
const ssh = newSigner('ssh-ed25519');
const fileWith = (keys: readonly TestPasskey[], site = `rpId: ${SITE.rpId}\norigins: ['${SITE.origin}']`) =>
  parseApprovers(
    `installation: '${FACTS.installation}'
${site}
people:
  anna: { passkeys: ${JSON.stringify(keys.map(({ line }) => line))}, keys: ['${ssh.line}'] }
  bob: { passkeys: ${JSON.stringify([bob.line])} }
rules: [{ name: default, then: by_safety }]
`,
    'approvers.yaml',
  );
const approvers = fileWith([anna, edwards, rsa]);

interface Case extends Signed {
  signer?: TestPasskey;
  changes?: PasskeyChanges;
  vote?: object;
  assertion?: string;
  isSilent?: boolean;
}

const voteOf = (one: Case): Record<string, unknown> => {
  const made = statementWith(one);
  const text = statementText(made);
  const { decisionId, decision, reason, approver, at, notAfter, seenDigest } = made;
  const armored = one.assertion ?? (one.signer ?? anna).sign(text, one.changes);
  const statement = one.isSilent === true ? {} : { statement: text };
  return {
    ...{ decisionId, decision, reason, approver, at, notAfter, seenDigest },
    signature: { kind: 'passkey', armored, ...statement },
    ...one.vote,
  };
};
const judged = (vote: unknown, file = approvers): VoteJudgement =>
  assuranceOf(vote, { facts: FACTS, approvers: file, now: AT + 60_000 });

it.each<[string, Case]>([
  ['by ES256', {}],
  ['by EdDSA', { signer: edwards }],
  ['by RS256', { signer: rsa }],
  ['without the text that was signed', { isSilent: true }],
  ['by a passkey that several devices share', { changes: { flags: 0x1d } }],
  ['with a counter', { changes: { counter: 7 } }],
  ['by a browser that says more', { changes: { client: { other_keys_can_be_added_here: 'x' } } }],
  [
    'by a browser that does not say whether it was within a page',
    { changes: { client: { crossOrigin: undefined } } },
  ],
  ['that denies', { words: { decision: 'denied' } }],
  ['that runs again', { words: { decision: 'run-again' } }],
])('takes what a passkey signed %s', (_case, one) => {
  expect(judged(voteOf(one))).toMatchObject({ ok: true, assurance: 'signed', voter: 'anna' });
});

it('does not look at the counter, which passkeys of several devices do not have', () => {
  const verdicts = [9, 3, 3, 0].map((counter) => judged(voteOf({ changes: { counter } })));
  expect(verdicts.map(({ ok }) => ok)).toEqual([true, true, true, true]);
});

it('is not as sure as an SSH key', () => {
  const verdict = judged(voteOf({}));
  expect(verdict.ok && isAssured(verdict.assurance, 'signed')).toBe(true);
  expect(verdict.ok && isAssured(verdict.assurance, 'signed_ssh')).toBe(false);
});

it('fits into a decision, whatever the key', () => {
  const text = statementText(statementWith({}));
  for (const one of [anna, edwards, rsa])
    expect(one.sign(text).length).toBeLessThan(LIMITS.signatureCharacters / 2);
});

const digest = 'f'.repeat(64);
const other = statementText(statementWith({ facts: { callKey: 'other' } }));

it.each<[string, keyof typeof VOTE_FAULTS, Case]>([
  ['of another installation', 'wrong_installation', { facts: { installation: 'cd'.repeat(16) } }],
  ['of another namespace or cluster', 'wrong_turn', { facts: { namespace: 'other' } }],
  ['of another turn', 'wrong_turn', { facts: { workflowId: 'turn-2' } }],
  ['of another run of its turn', 'wrong_run', { facts: { runId: 'other' } }],
  ['under another id', 'vote_changed', { vote: { decisionId: 'd-2' } }],
  ['of another call', 'wrong_call', { facts: { callKey: 'reply-1:1.2' } }],
  ['of the call before a reset', 'wrong_call', { facts: { callKey: 'reply-0:1.1' } }],
  ['of another tool', 'wrong_call', { facts: { tool: 'look' } }],
  ['of an older tool', 'tool_changed', { facts: { toolDigest: digest } }],
  ['of the call before it was run again', 'wrong_generation', { facts: { generation: 1 } }],
  ['over another preview', 'wrong_arguments', { facts: { seenDigest: digest } }],
  ['over other arguments', 'wrong_arguments', { facts: { effectiveDigest: digest } }],
  ['under another rule', 'rule_changed', { facts: { ruleDigest: digest } }],
  ['that denied', 'vote_changed', { words: { decision: 'denied' }, vote: { decision: 'approved' } }],
  ['whose end was moved', 'vote_changed', { vote: { notAfter: new Date(AT + 7_200_000).toISOString() } }],
  ['by a passkey that was removed', 'key_removed', { signer: removed }],
  ['by the passkey of somebody else', 'other_persons_key', { signer: bob }],
  ['in the name of somebody else', 'other_persons_key', { vote: { approver: 'bob' } }],
  ['of somebody who is not in the file', 'unknown_person', { vote: { approver: 'eve' } }],
  ['on another page', 'wrong_origin', { changes: { origin: 'https://inbox.example.com.evil.com' } }],
  ['on another port', 'wrong_origin', { changes: { origin: 'https://inbox.example.com:8443' } }],
  ['without https', 'wrong_origin', { changes: { origin: 'http://inbox.example.com' } }],
  ['within another page', 'wrong_origin', { changes: { client: { crossOrigin: true } } }],
  ['below another page', 'wrong_origin', { changes: { client: { topOrigin: 'https://evil.com' } } }],
  ['for another domain', 'wrong_site', { changes: { rpId: 'example.com' } }],
  ['with nobody there', 'not_present', { changes: { flags: 0x04 } }],
  ['without a PIN or a finger', 'not_verified', { changes: { flags: 0x01 } }],
  ['where it was made', 'wrong_use', { changes: { type: 'webauthn.create' } }],
  ['with a credential in it', 'malformed', { changes: { flags: 0x45 } }],
  ['with extensions that are not there', 'malformed', { changes: { flags: 0x85 } }],
  ['with bytes too many', 'malformed', { changes: { authenticatorData: Buffer.alloc(38, 5) } }],
  ['with bytes too few', 'malformed', { changes: { authenticatorData: Buffer.alloc(36, 5) } }],
  ['over something else than it sent', 'does_not_match', { changes: { signed: Buffer.from('x') } }],
  ['that was changed', 'does_not_match', { changes: { client: { challenge: 'x' } }, isSilent: true }],
  ['over another statement', 'does_not_match', { assertion: anna.sign(other) }],
  ['whose id is that of another one', 'does_not_match', { assertion: renamed(edwards, anna) }],
  ['that is empty', 'malformed', { assertion: '' }],
  ['of five parts', 'malformed', { assertion: 'YQ.YQ.YQ.YQ.YQ' }],
  ['with padding', 'malformed', { assertion: 'YQ==.YQ.YQ.YQ' }],
  ['whose client data is not JSON', 'malformed', { assertion: `${anna.id}.YQ.YQ.YQ` }],
  ['that is huge', 'too_large', { assertion: 'x'.repeat(1_000_000) }],
])('refuses what a passkey signed %s', (_case, why, one) => {
  expect(judged(voteOf(one))).toEqual({ ok: false, why });
  expect(VOTE_FAULTS[why]).toEqual(expect.any(String));
});

/** What one passkey signed under the id of another. */
function renamed(from: TestPasskey, to: TestPasskey): string {
  const [, ...parts] = from.sign(statementText(statementWith({}))).split('.');
  return [to.id, ...parts].join('.');
}

it('counts no more once its line is out of the file', () => {
  const vote = voteOf({});
  expect(judged(vote)).toMatchObject({ ok: true });
  expect(judged(vote, fileWith([edwards]))).toEqual({ ok: false, why: 'key_removed' });
});

it('never passes for a signature by another kind of key, nor the other way around', () => {
  const text = statementText(statementWith({}));
  const own = anna.sign(text);
  const kinds = (armored: string, kind: string): VoteJudgement =>
    judged(voteOf({ vote: { signature: { kind, armored, statement: text } } }));
  expect(kinds(own, 'ssh')).toEqual({ ok: false, why: 'malformed' });
  expect(kinds(own, 'inbox')).toEqual({ ok: false, why: 'malformed' });
  expect(kinds(ssh.sign(Buffer.from(text)), 'passkey')).toEqual({ ok: false, why: 'malformed' });
});

it('never throws, and takes nothing made up as signed', () => {
  const parts = anna.sign(statementText(statementWith({}))).split('.');
  const bytes = fc.uint8Array({ maxLength: 200 }).map((one) => Buffer.from(one).toString('base64url'));
  const part = fc.oneof(
    bytes,
    fc.string(),
    fc.json().map((one) => Buffer.from(one).toString('base64url')),
  );
  fc.assert(
    fc.property(fc.nat(3), part, (at, made) => {
      const changed = parts.with(at, made).join('.');
      const verdict = judged(voteOf({ assertion: changed }));
      expect(verdict.ok).toBe(changed === parts.join('.'));
    }),
    { numRuns: runs(500) },
  );
  fc.assert(
    fc.property(fc.nat(3), fc.nat(), fc.integer({ min: 1, max: 255 }), (at, where, mask) => {
      const changed = Buffer.from(parts[at] ?? '', 'base64url');
      const place = where % changed.length;
      changed[place] = (changed[place] ?? 0) ^ mask;
      const assertion = parts.with(at, changed.toString('base64url')).join('.');
      expect(judged(voteOf({ assertion })).ok).toBe(false);
    }),
    { numRuns: runs(500) },
  );
});
