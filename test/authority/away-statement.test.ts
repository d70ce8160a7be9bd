import { parseApprovers } from '../../src/authority/approvers';
import { assuranceOf } from '../../src/authority/vote-signature';
import { assuranceOfAway, awayFault, awayText } from '../../src/authority/away-statement';
import {
  AWAY_NAMESPACE,
  GRANT_NAMESPACE,
  INBOX_AWAY_NAMESPACE,
  SIGNATURE_NAMESPACE,
} from '../../src/authority/ssh-signature';
import { readStatement, statementOf, statementText } from '../../src/authority/statement';
import type { AwayAsked } from '../../src/contract/control/away';
import { newSigner } from '../support/ssh';
import { AT, FACTS, VOTE } from './signed';

const dora = newSigner('ssh-ed25519');
const xena = newSigner('ssh-ed25519');
const inbox = newSigner('ssh-ed25519');
const fileOf = (key: string) =>
  parseApprovers(
    `installation: '${FACTS.installation}'
inboxKeys: ${JSON.stringify([inbox.line])}
people:
  dora: { keys: ${JSON.stringify([key])} }
  xena: { keys: ${JSON.stringify([xena.line])} }
rules: [{ name: default, then: by_safety }]
`,
    'approvers.yaml',
  );
const iso = (ms: number): string => new Date(ms).toISOString();
const MINUTE = 60_000;
const PLACE = { installation: FACTS.installation, namespace: 'default' };
const TERMS: AwayAsked = {
  ...{ id: '00000000-0000-4000-8000-000000000001', from: 'dora', to: 'xena' },
  ...{ start: iso(AT), end: iso(AT + 60 * MINUTE), at: iso(AT) },
};

interface Case {
  said?: Partial<AwayAsked>;
  signer?: typeof dora;
  namespace?: string;
  kind?: 'ssh' | 'inbox';
  now?: number;
  key?: string;
  place?: Partial<typeof PLACE>;
}

function judged({
  said,
  signer = dora,
  namespace = AWAY_NAMESPACE,
  kind = 'ssh',
  now = AT,
  key,
  place,
}: Case) {
  const armored = signer.sign(awayText(TERMS, PLACE), { namespace });
  const signature = { kind, armored, at: TERMS.at, notAfter: TERMS.end };
  const judge = { ...PLACE, ...place, approvers: fileOf(key ?? dora.line), now };
  return assuranceOfAway({ ...TERMS, signature, ...said }, judge);
}

it.each<[string, Case, object]>([
  ['by who is away', {}, { ok: true, assurance: 'signed_ssh', voter: 'dora' }],
  [
    'by the web inbox',
    { kind: 'inbox', signer: inbox, namespace: INBOX_AWAY_NAMESPACE },
    { ok: true, assurance: 'signed_in' },
  ],
  ['by a clock ten minutes ahead', { now: AT - 10 * MINUTE }, { ok: true }],
  ['by a clock further ahead', { now: AT - 10 * MINUTE - 1 }, { ok: false, why: 'in_future' }],
  ['that is over', { now: AT + 60 * MINUTE }, { ok: false, why: 'expired' }],
  ['by the delegate', { signer: xena }, { ok: false, why: 'other_persons_key' }],
  ['by a key that was replaced', { key: newSigner('ssh-ed25519').line }, { ok: false, why: 'key_removed' }],
  [
    'by the web inbox, given out as who is away',
    { signer: inbox, namespace: INBOX_AWAY_NAMESPACE },
    { ok: false, why: 'wrong_namespace' },
  ],
  ['of a grant', { namespace: GRANT_NAMESPACE }, { ok: false, why: 'wrong_namespace' }],
  ['of a decision', { namespace: SIGNATURE_NAMESPACE }, { ok: false, why: 'wrong_namespace' }],
  ['for another delegate', { said: { to: 'yan' } }, { ok: false, why: 'does_not_match' }],
  ['from another start', { said: { start: iso(AT - 1) } }, { ok: false, why: 'does_not_match' }],
  ['until another end', { said: { end: iso(AT + 61 * MINUTE) } }, { ok: false, why: 'vote_changed' }],
  [
    'of another id',
    { said: { id: '00000000-0000-4000-8000-000000000002' } },
    { ok: false, why: 'does_not_match' },
  ],
  ['of another namespace', { place: { namespace: 'other' } }, { ok: false, why: 'does_not_match' }],
  ['of somebody who is not in the file', { said: { from: 'eve' } }, { ok: false, why: 'unknown_person' }],
])('judges the signature %s', (_what, one, expected) => {
  const found = judged(one);
  expect(found).toMatchObject(expected);
  if (!found.ok) expect(awayFault(found)).toMatch(/\w/);
});

it('takes one without a signature as a claim', () => {
  const judge = { ...PLACE, approvers: fileOf(dora.line), now: AT };
  expect(assuranceOfAway(TERMS, judge)).toEqual({ ok: true, assurance: 'claimed' });
});

describe('a vote in the place of somebody', () => {
  const inPlaceOf = { person: 'dora', entry: TERMS.id };
  const said = { ...VOTE, approver: 'xena' };
  const plain = statementOf(FACTS, said);
  const placed = statementOf(FACTS, { ...said, inPlaceOf });

  it('is another statement than one as oneself', () => {
    expect([plain?.v, placed?.v]).toEqual([1, 2]);
    if (plain === undefined || placed === undefined) throw new Error('no statement');
    expect(readStatement(statementText(placed))).toEqual(placed);
    for (const wrong of [
      { ...placed, v: 1 },
      { ...plain, v: 2 },
      { ...plain, inPlaceOf },
    ])
      expect(readStatement(JSON.stringify(wrong))).toBeUndefined();
  });

  it.each([
    ['as oneself', plain, inPlaceOf],
    ['in that place', placed, undefined],
    ['in that place', placed, { person: 'ed', entry: TERMS.id }],
    ['in that place', placed, { person: 'dora', entry: 'other' }],
  ])('is not signed by what was signed %s', (_what, statement, place) => {
    if (statement === undefined) throw new Error('no statement');
    const armored = xena.sign(statementText(statement), { namespace: SIGNATURE_NAMESPACE });
    const signature = { kind: 'ssh' as const, armored, statement: statementText(statement) };
    const vote = { ...said, ...(place && { inPlaceOf: place }), seenDigest: FACTS.seenDigest, signature };
    const judge = { facts: FACTS, approvers: fileOf(dora.line), now: AT };
    expect(assuranceOf(vote, judge)).toEqual({ ok: false, why: 'vote_changed' });
  });
});
