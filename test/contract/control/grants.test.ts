import fc from 'fast-check';
import {
  isGrantAsked,
  isGrantsSeen,
  isRevokeAsked,
  isUseAsked,
  readGrants,
  readGrantsMemo,
} from '../../../src/contract/control/grant-forms';
import {
  addGrant,
  claimUse,
  type GrantAsked,
  type GrantsState,
  memoOf,
  noGrants,
  revokeGrants,
  seenOf,
  type UseAsked,
} from '../../../src/contract/control/grants';
import { LIMITS } from '../../../src/contract/limits';
import { utf8Bytes } from '../../../src/contract/text/bytes';
import '../../support/properties';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const keyOf = (n: number): string => String(n).padStart(32, '0');
const DIGEST = 'a'.repeat(64);

const asked = (part: Partial<GrantAsked> = {}): GrantAsked => ({
  ...{ id: uuid(1), agent: 'clerk', tool: 'pay', toolDigest: DIGEST, ruleDigest: '', policyDigest: '' },
  narrowing: { cents: { is: 'range', max: 100 } },
  ...{ times: 3, at: iso(NOW), until: iso(NOW + 30 * MINUTE), by: 'ann' },
  ...part,
});
const use = (n: number, part: Partial<UseAsked> = {}): UseAsked => {
  const { id, agent, tool, toolDigest, ruleDigest, policyDigest } = asked();
  return { id, agent, tool, toolDigest, ruleDigest, policyDigest, key: keyOf(n), ...part };
};
const given = (...grants: Partial<GrantAsked>[]): GrantsState =>
  grants.reduce<GrantsState>((state, part) => stateOf(addGrant(state, asked(part), NOW)), noGrants());

function stateOf(answer: { state: GrantsState } | { message: string }): GrantsState {
  if ('state' in answer) return answer.state;
  throw new Error(answer.message);
}

describe('giving a grant', () => {
  it('keeps what was given, and when it was taken', () => {
    expect(seenOf(given({}))).toEqual({ grants: [{ ...asked(), takenAt: iso(NOW), used: 0 }] });
  });

  it('counts the same one once', () => {
    const state = given({});
    expect(addGrant(state, asked(), NOW + 5)).toMatchObject({ state, grant: { takenAt: iso(NOW) } });
  });

  it.each<[string, Partial<GrantAsked>, string, RegExp]>([
    ['over already', { at: iso(NOW - 2 * MINUTE), until: iso(NOW) }, 'grant_refused', /over already/],
    [
      'that ends before it begins',
      { at: iso(NOW + 2), until: iso(NOW + 1) },
      'grant_refused',
      /over already/,
    ],
    ['for 31 days', { until: iso(NOW + 31 * 1440 * MINUTE) }, 'grant_refused', /at most 30 days/],
    ['from the future', { at: iso(NOW + 11 * MINUTE) }, 'grant_refused', /dated in the future/],
    ['for 501 calls', { times: 501 }, 'malformed', /at most 500 calls/],
    ['that climbs', { narrowing: { a: { is: 'prefix', prefix: '../' } } }, 'malformed', /climbs/],
    ['with a terminal sequence', { reason: 'x\u001b[2J' }, 'malformed', /control characters/],
  ])('refuses one %s', (_case, part, code, why) => {
    expect(addGrant(noGrants(), asked(part), NOW)).toEqual({ code, message: expect.stringMatching(why) });
  });

  it('refuses another one of the same id', () => {
    expect(addGrant(given({}), asked({ times: 4 }), NOW)).toMatchObject({ code: 'grant_refused' });
  });

  it('refuses more than there is room for', () => {
    const full = given(...Array.from({ length: LIMITS.grants }, (_, n) => ({ id: uuid(n) })));
    expect(addGrant(full, asked({ id: uuid(99) }), NOW)).toMatchObject({ code: 'grants_full' });
    const later = NOW + 60 * MINUTE;
    const next = asked({ id: uuid(99), at: iso(later), until: iso(later + MINUTE) });
    expect(addGrant(full, next, later)).toMatchObject({ grant: { id: uuid(99) } });
  });
});

describe('the reason for the end of a grant', () => {
  it.each([
    ['a terminal sequence', 'x\u001b[2J', /control characters/],
    ['too many bytes', 'ü'.repeat(251), /over 500 bytes/],
  ])('is not taken with %s', (_case, reason, why) => {
    const refused = { code: 'malformed', message: expect.stringMatching(why) };
    expect(revokeGrants(given({}), { id: uuid(1), reason }, NOW)).toEqual(refused);
    expect(revokeGrants(given({}), { reason }, NOW)).toEqual(refused);
  });
});

describe('claiming a use', () => {
  it('counts down, and says no in the end', () => {
    let state = given({ times: 2 });
    for (const n of [1, 2]) {
      const claimed = claimUse(state, use(n), NOW);
      expect(claimed).toMatchObject({ taken: { use: n, grant: { id: uuid(1), by: 'ann' } } });
      state = stateOf(claimed);
    }
    expect(claimUse(state, use(3), NOW)).toEqual({ code: 'grant_void', message: 'its 2 uses are claimed' });
    expect(claimUse(state, use(1), NOW)).toMatchObject({ state, taken: { use: 1, again: true } });
  });

  it.each<[string, Partial<UseAsked>, RegExp]>([
    ['another tool', { tool: 'refund' }, /another tool or agent/],
    ['another agent', { agent: 'boss' }, /another tool or agent/],
    ['another version of the tool', { toolDigest: 'b'.repeat(64) }, /tool changed/],
    ['another rule', { ruleDigest: DIGEST }, /rule changed/],
    ['another policy rule', { policyDigest: DIGEST }, /rule changed/],
    ['a grant that is not there', { id: uuid(7) }, /not there/],
  ])('is refused for %s', (_case, part, why) => {
    const message = expect.stringMatching(why);
    expect(claimUse(given({}), use(1, part), NOW)).toEqual({ code: 'grant_void', message });
  });

  it('is refused from the moment at which it ends, also to a call that had claimed one', () => {
    const state = stateOf(claimUse(given({}), use(1), NOW + 30 * MINUTE - 1));
    for (const n of [1, 2])
      expect(claimUse(state, use(n), NOW + 30 * MINUTE)).toMatchObject({ code: 'grant_void' });
  });
});

describe('revoking', () => {
  it('ends one at once, also for a call that had claimed a use, and for good', () => {
    const claimed = stateOf(claimUse(given({}), use(1), NOW));
    const { state, revoked } = revoked1(claimed);
    expect(revoked).toMatchObject({ ended: [{ id: uuid(1) }] });
    expect(claimUse(state, use(1), NOW)).toEqual({ code: 'grant_void', message: 'it was revoked' });
    expect(addGrant(state, asked(), NOW)).toEqual({ code: 'grant_refused', message: 'it was revoked' });
    expect(memoOf(state)).toEqual({ revoked: [uuid(1)], open: 0 });
  });

  it('says where there is none', () => {
    expect(revokeGrants(noGrants(), { id: uuid(1) }, NOW)).toMatchObject({ code: 'grant_not_found' });
  });

  it('raises the floor for all, above the clocks of those who gave them', () => {
    const ahead = iso(NOW + 9 * MINUTE);
    const before = given({}, { id: uuid(2), at: ahead, until: iso(NOW + 40 * MINUTE) });
    const all = revokeGrants(before, {}, NOW);
    const floor = iso(NOW + 9 * MINUTE + 1);
    expect(all).toMatchObject({ revoked: { floor, ended: [{ id: uuid(1) }, { id: uuid(2) }] } });
    for (const again of [asked(), asked({ id: uuid(2), at: ahead, until: iso(NOW + 40 * MINUTE) })])
      expect(addGrant(stateOf(all), again, NOW)).toMatchObject({ code: 'grant_refused' });
  });

  it('raises the floor where the memo is full', () => {
    let state = noGrants();
    let wasRaised = false;
    for (let n = 0; n < 200 && !wasRaised; n++) {
      const at = NOW + n;
      state = stateOf(addGrant(state, asked({ id: uuid(n), at: iso(at) }), at));
      state = stateOf(revokeGrants(state, { id: uuid(n) }, at));
      expect(utf8Bytes(JSON.stringify(memoOf(state)))).toBeLessThanOrEqual(LIMITS.memoBytes);
      wasRaised = state.floor !== undefined;
      if (wasRaised)
        for (let old = 0; old <= n; old++)
          expect(addGrant(state, asked({ id: uuid(old), at: iso(NOW + old) }), at)).toHaveProperty('code');
    }
    expect(wasRaised).toBe(true);
  });
});

function revoked1(state: GrantsState) {
  const answer = revokeGrants(state, { id: uuid(1) }, NOW);
  if ('code' in answer) throw new Error(answer.message);
  return answer;
}

/** What somebody does to the grants, at a time. */
type Act =
  | { do: 'give'; id: number; times: number; minutes: number }
  | { do: 'use'; id: number; call: number }
  | { do: 'revoke'; id: number | undefined };

const acts = fc.array(
  fc.tuple(
    fc.nat(12 * MINUTE),
    fc.oneof(
      fc.record<Act & { do: 'give' }>({
        do: fc.constant('give'),
        id: fc.nat(3),
        times: fc.integer({ min: 1, max: 4 }),
        minutes: fc.integer({ min: 1, max: 60 }),
      }),
      fc.record<Act & { do: 'use' }>({ do: fc.constant('use'), id: fc.nat(3), call: fc.nat(8) }),
      fc.record<Act & { do: 'revoke' }>({
        do: fc.constant('revoke'),
        id: fc.option(fc.nat(3), { nil: undefined, freq: 4 }),
      }),
    ),
  ),
  { maxLength: 60 },
);

describe('whatever people and calls do, in whatever order', () => {
  it('no grant allows more calls than it says, any after its end, or any after it was revoked', () => {
    fc.assert(
      fc.property(acts, fc.boolean(), (list, moves) => {
        let state = noGrants();
        let now = NOW;
        const terms = new Map<string, GrantAsked>();
        const calls = new Map<string, Set<string>>();
        const dead = new Set<string>();
        for (const [passed, act] of list) {
          now += passed;
          // As it continues as new now and then.
          if (moves) state = readGrants(JSON.parse(JSON.stringify(state))) ?? noGrants();
          if (act.do === 'give') {
            const { id, times, minutes } = act;
            const one = asked({ id: uuid(id), times, at: iso(now), until: iso(now + minutes * MINUTE) });
            const taken = addGrant(state, one, now);
            if (!('grant' in taken)) continue;
            // The one before is forgotten: this one is new, and only its id is the same.
            if (terms.get(one.id)?.at !== one.at) calls.set(one.id, new Set());
            expect(dead.has(`${one.id} ${one.at}`)).toBe(false);
            terms.set(one.id, one);
            state = taken.state;
          } else if (act.do === 'use') {
            const id = uuid(act.id);
            const claimed = claimUse(state, use(act.call, { id }), now);
            if (!('taken' in claimed)) continue;
            const [one, of] = [terms.get(id), calls.get(id)];
            if (one === undefined || of === undefined) throw new Error('nobody gave it');
            expect(dead.has(`${id} ${one.at}`)).toBe(false);
            expect(now).toBeLessThan(Date.parse(one.until));
            expect(claimed.taken.again === true).toBe(of.has(keyOf(act.call)));
            of.add(keyOf(act.call));
            expect(of.size).toBeLessThanOrEqual(one.times);
            expect(claimed.taken.use).toBe([...of].indexOf(keyOf(act.call)) + 1);
            state = claimed.state;
          } else {
            const ended = revokeGrants(state, act.id === undefined ? {} : { id: uuid(act.id) }, now);
            if ('code' in ended) continue;
            for (const { id, at } of ended.revoked.ended) dead.add(`${id} ${at}`);
            state = ended.state;
          }
          expect(readGrants(JSON.parse(JSON.stringify(state)))).toEqual(state);
        }
      }),
    );
  });
});

describe('what anybody may send', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an id that is none', { ...asked(), id: 'x' }],
    ['an unknown field', { ...asked(), all: true }],
    ['a condition of two kinds', { ...asked(), narrowing: { a: { is: 'equal', value: 1, prefix: '' } } }],
    ['an unknown condition', { ...asked(), narrowing: { a: { is: 'any' } } }],
    ['no uses at all', { ...asked(), times: 0 }],
    ['half a use', { ...asked(), times: 0.5 }],
    ['a day that is none', { ...asked(), until: '2026-02-31T00:00:00.000Z' }],
    [
      'a signature of a day that is none',
      {
        ...asked(),
        signature: { kind: 'ssh', armored: 'x', at: '2026-02-31T00:00:00.000Z', notAfter: iso(NOW) },
      },
    ],
    ['a time of another zone', { ...asked(), until: '2026-11-25T12:00:00.000+01:00' }],
    ['a digest that is none', { ...asked(), toolDigest: 'abc' }],
    ['nobody', { ...asked(), by: '' }],
  ])('is not a grant: %s', (_case, value) => {
    expect(isGrantAsked(value)).toBe(false);
  });

  it('is one where it fits, also with an argument that is called until', () => {
    const until = { is: 'equal', value: 'never' };
    expect(isGrantAsked(asked())).toBe(true);
    expect(isGrantAsked({ ...asked(), narrowing: { until } })).toBe(true);
  });

  it('is a use, and a revocation, only in its form', () => {
    expect(isUseAsked(use(1))).toBe(true);
    expect(isUseAsked({ ...use(1), key: 'call' })).toBe(false);
    expect(isUseAsked({ ...use(1), use: 1 })).toBe(false);
    expect(isRevokeAsked({ by: 'ann' })).toBe(true);
    expect(isRevokeAsked({ id: uuid(1) })).toBe(false);
  });

  it('reads a memo and a state, and nothing else', () => {
    expect(readGrantsMemo(undefined)).toEqual({ revoked: [], open: 0 });
    expect(readGrantsMemo(memoOf(given({})))).toEqual({ revoked: [], open: 1 });
    for (const wrong of [{}, [], 'x', { revoked: [1], open: 0 }, { revoked: [], open: -1 }])
      expect(readGrantsMemo(wrong)).toBeUndefined();
    expect(readGrants({ grants: [{ ...asked(), uses: [] }], revoked: [] })).toBeUndefined();
  });
});

it.each<[string, Partial<GrantAsked>, number]>([
  ['each of them used as often as it may be', { times: LIMITS.grantTimes }, LIMITS.grantTimes],
  ['as long as their sender can make them', { authority: authorityOf(9_000) }, 0],
])('all grants that were taken can be read by the next run: %s', (_case, part, uses) => {
  let state = noGrants();
  for (let n = 0; n < LIMITS.grants; n++) {
    const one = asked({ id: uuid(n), ...part });
    expect(isGrantAsked(one)).toBe(true);
    const answer = addGrant(state, one, NOW);
    if ('state' in answer) ({ state } = answer);
  }
  expect(state.grants.length).toBeGreaterThan(20);
  const used = Array.from({ length: uses }, (_, n) => keyOf(n));
  const whole: GrantsState = { ...state, grants: state.grants.map((one) => ({ ...one, uses: used })) };
  expect(readGrants(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
  expect(isGrantsSeen(JSON.parse(JSON.stringify(seenOf(whole))))).toBe(true);
});

/** An authority in whose rule a group is named so often. */
function authorityOf(names: number): NonNullable<GrantAsked['authority']> {
  const rule = { name: 'r', then: 'ask' as const, need: 1, groups: new Array<string>(names).fill('') };
  const more = { rosters: [], notRequester: false, denyNeeds: 1, assurance: 'claimed' as const };
  return { fileDigest: '', ruleDigest: '', requesters: [], rule: { ...rule, ...more } };
}

it.each<[string, (state: GrantsState) => unknown]>([
  [
    'a use that is none',
    ({ grants }) => ({ revoked: [], grants: grants.map((one) => ({ ...one, uses: ['x'] })) }),
  ],
  ['a grant of another form', ({ grants }) => ({ revoked: [], grants: [...grants, { id: uuid(3) }] })],
])('%s is not read from the run before', (_case, change) => {
  expect(readGrants(change(given({})))).toBeUndefined();
});
