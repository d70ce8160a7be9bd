import { countProvenVotes, type VoteProof } from '../../../src/authority/votes/worker-count';
import type { Authority, DatedVote, VoteRule } from '../../../src/contract/authority';
import { people, rule } from './support';

const NOW = Date.parse('2026-12-24T12:00:00.000Z');
const at = new Date(NOW).toISOString();
const votes = (text: string): DatedVote[] =>
  text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({ voter: one.slice(1), decision: one.startsWith('+') ? 'approved' : 'denied', at }));

const authority = (changes: Partial<VoteRule> = {}): Authority => ({
  ...{ fileDigest: 'f', ruleDigest: 'r', people, requesters: ['zoe'] },
  rule: { ...rule(changes), name: 'large', then: 'ask' },
});

it.each<[string, Partial<VoteRule>, string, VoteProof, string, string[], RegExp]>([
  ['a proven vote', {}, '+anna', { assurance: 'signed' }, 'approved', [], /needs 0 more/],
  [
    'a vote that proves too little',
    { assurance: 'signed' },
    '+anna',
    { assurance: 'signed_in' },
    'open',
    ['anna'],
    /it is signed in, and the rule wants it signed/,
  ],
  [
    'a vote that nobody can check',
    { assurance: 'signed' },
    '+anna',
    { assurance: 'claimed', unchecked: 'no file' },
    'open',
    ['anna'],
    /no file, and the rule wants it signed/,
  ],
  [
    'a vote whose proof is refused',
    {},
    '+anna',
    { why: 'forged' },
    'open',
    ['anna'],
    /the vote of anna does not count: forged/,
  ],
  [
    'a vote of a stranger',
    {},
    '+mallory',
    { assurance: 'signed' },
    'open',
    ['mallory'],
    /mallory is not named by the rule/,
  ],
])('%s', (_name, changes, cast, proof, state, struck, why) => {
  const found = countProvenVotes(authority(changes), votes(cast), { proofOf: () => proof, now: NOW });
  expect(found.count.state).toBe(state);
  expect(found.struck.map(({ voter }) => voter)).toEqual(struck);
  expect(found.why).toMatch(why);
});

it('counts the proven votes, and says how sure the weakest of them is', () => {
  const proofOf = ({ voter }: DatedVote): VoteProof =>
    voter === 'carl' ? { why: 'forged' } : { assurance: voter === 'anna' ? 'signed' : 'signed_in' };
  const found = countProvenVotes(authority({ need: 2 }), votes('+anna +bob +carl'), { proofOf, now: NOW });
  expect(found).toMatchObject({ count: { state: 'approved' }, assurance: 'signed_in' });
  expect(found.struck.map(({ voter }) => voter)).toEqual(['carl']);
});
