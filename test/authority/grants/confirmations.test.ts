import fc from 'fast-check';
import { confirmGrant, type ConfirmAsked, termsDigest } from '../../../src/authority/grants/confirmations';
import { isConfirmAsked } from '../../../src/authority/grants/grant-schemas';
import { heldSentence } from '../../../src/authority/grants/grant-text';
import {
  type Grant,
  type GrantAsked,
  type GrantRefused,
  takeGrant,
} from '../../../src/authority/grants/grant';
import { LIMITS } from '../../../src/contract/limits';
import '../../support/properties';
import type { Authority } from '../../../src/contract/authority';
import { claimUse } from '../../../src/authority/grants/claim-use';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const PEOPLE = ['ann', 'bob', 'carl', 'rita'];
const authority = (need = 2): Authority => ({
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'] },
  people: PEOPLE.map((name) => ({ name, groups: [], delegates: [], mail: `${name}@example.org` })),
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['ann', 'bob', 'carl', 'rita']], need, groups: [] },
    ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
  },
});
const asked = (part: Partial<GrantAsked> = {}): GrantAsked => ({
  ...{
    id: uuid(1),
    agent: 'clerk',
    tool: 'pay',
    toolDigest: 'a'.repeat(64),
    ruleDigest: '',
    policyDigest: '',
  },
  narrowing: {},
  ...{ times: 3, at: iso(NOW), until: iso(NOW + 30 * MINUTE), by: 'ann', authority: authority() },
  ...part,
});
const by = (voter: string, part: Partial<ConfirmAsked> = {}, grant = asked()): ConfirmAsked => ({
  ...{ id: grant.id, voter, at: iso(NOW), seenDigest: termsDigest(grant) },
  ...part,
});
const given = (part: Partial<GrantAsked> = {}): Grant => taken(takeGrant(asked(part), NOW));
const claim = (grant: Grant, now = NOW) => {
  const { agent, tool, toolDigest, ruleDigest, policyDigest } = asked();
  return claimUse(grant, { agent, tool, toolDigest, ruleDigest, policyDigest }, now);
};

function taken(answer: Grant | GrantRefused): Grant {
  if ('code' in answer) throw new Error(answer.message);
  return answer;
}

it('allows nothing until somebody else confirms it, and then what it says', () => {
  const state = given();
  const message = "it is not confirmed: the rule 'large' needs 1 more of: bob, carl";
  expect(claim(state)).toEqual({ code: 'grant_void', message });
  const confirmed = taken(confirmGrant(state, by('BOB@example.org'), NOW));
  expect(confirmed.confirmed).toMatchObject([{ voter: 'bob' }]);
  expect(claim(confirmed)).toMatchObject({ used: 1 });
  expect(heldSentence(confirmed, NOW)).toBeUndefined();
});

it.each<[string, Partial<GrantAsked>, ConfirmAsked, string, RegExp]>([
  ['who gave it', {}, by('ann'), 'refused', /ann gave it/],
  ['who asked for the turn', {}, by('rita'), 'refused', /rita asked for the turn; these may: bob, carl/],
  ['a stranger', {}, by('eve'), 'refused', /eve is not named/],
  ['somebody, of other terms', {}, by('bob', { seenDigest: 'b'.repeat(64) }), 'refused', /another grant/],
  ['somebody, ahead of time', {}, by('bob', { at: iso(NOW + 11 * MINUTE) }), 'refused', /future/],
  ['somebody, of one that is not there', {}, by('bob', { id: uuid(2) }), 'not_found', /no grant/],
])('is not confirmed by %s', (_case, part, confirmation, code, why) => {
  const found = confirmGrant(given(part), confirmation, NOW);
  expect(found).toEqual({ code, message: expect.stringMatching(why) });
});

it('is not confirmed where nobody has to, or once it is over', () => {
  const { authority: _, ...alone } = asked();
  const state = taken(takeGrant(alone, NOW));
  expect(confirmGrant(state, by('bob'), NOW)).toMatchObject({ code: 'refused' });
  const late = confirmGrant(given(), by('bob'), NOW + 30 * MINUTE);
  expect(late).toMatchObject({ code: 'refused', message: expect.stringMatching(/ended/) });
});

it('counts a person once, by the last vote', () => {
  const three = given({ authority: authority(3) });
  const once = taken(confirmGrant(three, by('bob'), NOW));
  expect(taken(confirmGrant(once, by('bob'), NOW))).toBe(once);
  const again = taken(confirmGrant(once, by('Bob', { at: iso(NOW + 1) }), NOW + 1));
  expect(again.confirmed).toMatchObject([{ voter: 'bob', at: iso(NOW + 1) }]);
  expect(claim(again)).toMatchObject({ code: 'grant_void' });
});

it('is not confirmed where its votes no longer fit its memo', () => {
  const armored = 'x'.repeat(LIMITS.grantBytes / 2);
  const signature = { kind: 'ssh' as const, armored, at: iso(NOW), notAfter: iso(NOW) };
  const grant = given({ signature });
  expect(confirmGrant(grant, { ...by('bob'), signature }, NOW)).toMatchObject({ code: 'full' });
  expect(confirmGrant(grant, by('bob'), NOW)).toMatchObject({ confirmed: [{ voter: 'bob' }] });
});

it('is a confirmation only in its form', () => {
  expect(isConfirmAsked(by('bob'))).toBe(true);
  for (const wrong of [
    {},
    { ...by('bob'), voter: '' },
    { ...by('bob'), all: true },
    { ...by('bob'), at: 'now' },
  ])
    expect(isConfirmAsked(wrong)).toBe(false);
});

const person = fc.constantFrom(...PEOPLE, 'eve', 'Bob');
const acts = fc.array(fc.tuple(fc.nat(6 * MINUTE), fc.option(person, { nil: undefined, freq: 2 })), {
  maxLength: 30,
});
const giver = fc.constantFrom('ann', 'bob', 'carl');

it('covers nothing while it is incomplete, in whatever order people and calls come', () => {
  fc.assert(
    fc.property(acts, giver, fc.integer({ min: 2, max: 3 }), (list, first, need) => {
      const one = asked({ by: first, authority: authority(need) });
      let grant = taken(takeGrant(one, NOW));
      let now = NOW;
      // Who allowed it, worked out beside it.
      const who = new Set<string>([first]);
      for (const [passed, voter] of list) {
        now += passed;
        const next =
          voter === undefined
            ? claim(grant, now)
            : confirmGrant(grant, by(voter, { at: iso(now) }, one), now);
        if ('code' in next) continue;
        grant = next;
        if (voter !== undefined) {
          expect(['ann', 'bob', 'carl']).toContain(voter.toLowerCase());
          who.add(voter.toLowerCase());
        } else {
          expect(who.size).toBeGreaterThanOrEqual(need);
          expect(now).toBeLessThan(Date.parse(one.until));
        }
        expect(heldSentence(grant, NOW) === undefined).toBe(who.size >= need);
      }
    }),
  );
});
