import fc from 'fast-check';
import type { Authority } from '../../../src/contract/authority/authority';
import { confirmGrant, type ConfirmAsked, termsDigest } from '../../../src/contract/control/confirmations';
import { isConfirmAsked, readGrants } from '../../../src/contract/control/grant-forms';
import { heldSentence } from '../../../src/contract/control/grant-text';
import {
  addGrant,
  claimUse,
  type GrantAsked,
  type GrantsState,
  noGrants,
  revokeGrants,
} from '../../../src/contract/control/grants';
import { LIMITS } from '../../../src/contract/limits';
import '../../support/properties';

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
const given = (part: Partial<GrantAsked> = {}): GrantsState =>
  stateOf(addGrant(noGrants(), asked(part), NOW));
const claim = (state: GrantsState, key = 1, now = NOW, id = uuid(1)) => {
  const { agent, tool, toolDigest, ruleDigest, policyDigest } = asked();
  const call = { agent, tool, toolDigest, ruleDigest, policyDigest };
  return claimUse(state, { id, ...call, key: String(key).padStart(32, '0') }, now);
};

function stateOf(answer: { state: GrantsState } | { message: string }): GrantsState {
  if ('state' in answer) return answer.state;
  throw new Error(answer.message);
}

it('allows nothing until somebody else confirms it, and then what it says', () => {
  const state = given();
  const message = "it is not confirmed: the rule 'large' needs 1 more of: bob, carl";
  expect(claim(state)).toEqual({ code: 'grant_void', message });
  const confirmed = stateOf(confirmGrant(state, by('BOB@example.org'), NOW));
  expect(confirmed.grants[0]?.confirmed).toMatchObject([{ voter: 'bob' }]);
  expect(claim(confirmed)).toMatchObject({ taken: { use: 1, grant: { confirmed: [{ voter: 'bob' }] } } });
  expect(confirmed.grants.map(heldSentence)).toEqual([undefined]);
});

it.each<[string, Partial<GrantAsked>, ConfirmAsked, string, RegExp]>([
  ['who gave it', {}, by('ann'), 'grant_refused', /ann gave it/],
  [
    'who asked for the turn',
    {},
    by('rita'),
    'grant_refused',
    /rita asked for the turn; these may: bob, carl/,
  ],
  ['a stranger', {}, by('eve'), 'grant_refused', /eve is not named/],
  [
    'somebody, of other terms',
    {},
    by('bob', { seenDigest: 'b'.repeat(64) }),
    'grant_refused',
    /another grant/,
  ],
  ['somebody, ahead of time', {}, by('bob', { at: iso(NOW + 11 * MINUTE) }), 'grant_refused', /future/],
  ['somebody, of one that is not there', {}, by('bob', { id: uuid(2) }), 'grant_not_found', /no grant/],
])('is not confirmed by %s', (_case, part, confirmation, code, why) => {
  const found = confirmGrant(given(part), confirmation, NOW);
  expect(found).toEqual({ code, message: expect.stringMatching(why) });
});

it('is not confirmed where nobody has to, or once it is over', () => {
  const { authority: _, ...alone } = asked();
  const state = stateOf(addGrant(noGrants(), alone, NOW));
  expect(confirmGrant(state, by('bob'), NOW)).toMatchObject({ code: 'grant_refused' });
  const late = confirmGrant(given(), by('bob'), NOW + 30 * MINUTE);
  expect(late).toMatchObject({ code: 'grant_refused', message: expect.stringMatching(/ended/) });
});

it('counts a person once, by the last vote', () => {
  const three = given({ authority: authority(3) });
  const once = stateOf(confirmGrant(three, by('bob'), NOW));
  expect(stateOf(confirmGrant(once, by('bob'), NOW))).toBe(once);
  const again = stateOf(confirmGrant(once, by('Bob', { at: iso(NOW + 1) }), NOW + 1));
  expect(again.grants[0]?.confirmed).toMatchObject([{ voter: 'bob', at: iso(NOW + 1) }]);
  expect(claim(again)).toMatchObject({ code: 'grant_void' });
});

it('is the same grant when it is given once more after it was confirmed', () => {
  const state = stateOf(confirmGrant(given(), by('bob'), NOW));
  expect(stateOf(addGrant(state, asked(), NOW))).toEqual(state);
});

it('is refused, as its confirmation is, where all of them no longer fit', () => {
  const signed = (size: number) => ({
    ...{ kind: 'ssh' as const, armored: 'x'.repeat(size) },
    ...{ at: iso(NOW), notAfter: iso(NOW) },
  });
  const most = LIMITS.grantsBytes;
  const small = stateOf(addGrant(noGrants(), asked({ signature: signed(most - 5000) }), NOW));
  const other = asked({ id: uuid(2), signature: signed(5000) });
  expect(addGrant(small, other, NOW)).toMatchObject({ code: 'grants_full' });
  const confirmation = { ...by('bob'), signature: signed(5000) };
  expect(confirmGrant(small, confirmation, NOW)).toMatchObject({ code: 'grants_full' });
  expect(confirmGrant(small, by('bob'), NOW)).toHaveProperty('state');
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

type Act =
  | { do: 'give'; id: number; by: string; need: number }
  | { do: 'confirm'; id: number; voter: string }
  | { do: 'use'; id: number; call: number }
  | { do: 'revoke'; id: number };
const person = fc.constantFrom(...PEOPLE, 'eve', 'Bob');
const acts = fc.array(
  fc.tuple(
    fc.nat(6 * MINUTE),
    fc.oneof(
      fc.record<Act & { do: 'give' }>({
        do: fc.constant('give'),
        id: fc.nat(2),
        by: fc.constantFrom('ann', 'bob', 'carl'),
        need: fc.integer({ min: 2, max: 3 }),
      }),
      fc.record<Act & { do: 'confirm' }>({ do: fc.constant('confirm'), id: fc.nat(2), voter: person }),
      fc.record<Act & { do: 'use' }>({ do: fc.constant('use'), id: fc.nat(2), call: fc.nat(6) }),
      fc.record<Act & { do: 'revoke' }>({ do: fc.constant('revoke'), id: fc.nat(2) }),
    ),
  ),
  { maxLength: 60 },
);

it('covers nothing while it is incomplete, in whatever order people and calls come', () => {
  fc.assert(
    fc.property(acts, (list) => {
      let state = noGrants();
      let now = NOW;
      // Who allowed each grant that there is, worked out beside it.
      const allowed = new Map<
        string,
        { asked: GrantAsked; need: number; who: Set<string>; uses: Set<number> }
      >();
      for (const [passed, act] of list) {
        now += passed;
        const id = uuid(act.id);
        const known = allowed.get(id);
        if (act.do === 'give') {
          const one = asked({
            ...{
              id,
              by: act.by,
              at: iso(now),
              until: iso(now + 20 * MINUTE),
              authority: authority(act.need),
            },
          });
          const found = addGrant(state, one, now);
          if (!('state' in found)) continue;
          state = found.state;
          allowed.set(id, { asked: one, need: act.need, who: new Set([act.by]), uses: new Set() });
        } else if (act.do === 'confirm') {
          const seen = known?.asked ?? asked({ id });
          const found = confirmGrant(state, by(act.voter, { at: iso(now) }, seen), now);
          if (!('state' in found)) continue;
          state = found.state;
          const name = act.voter.toLowerCase();
          expect(['ann', 'bob', 'carl']).toContain(name);
          known?.who.add(name);
        } else if (act.do === 'use') {
          const found = claim(state, act.call, now, id);
          if (!('taken' in found)) continue;
          state = found.state;
          expect(known?.who.size).toBeGreaterThanOrEqual(known?.need ?? Infinity);
          expect(now).toBeLessThan(Date.parse(known?.asked.until ?? ''));
          known?.uses.add(act.call);
          expect(known?.uses.size).toBeLessThanOrEqual(3);
        } else {
          const found = revokeGrants(state, { id }, now);
          if (!('state' in found)) continue;
          state = found.state;
          allowed.delete(id);
        }
        expect(readGrants(JSON.parse(JSON.stringify(state)))).toEqual(state);
        for (const grant of state.grants) {
          const { who, need } = allowed.get(grant.id) ?? { who: new Set(), need: 0 };
          expect(heldSentence(grant, NOW) === undefined).toBe(who.size >= need);
        }
      }
    }),
  );
});
