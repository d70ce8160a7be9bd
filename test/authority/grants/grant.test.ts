import fc from 'fast-check';
import {
  isGrantAsked,
  isGrantShown,
  isRevokeAsked,
  isUseAsked,
} from '../../../src/authority/grants/grant-schemas';
import {
  type Grant,
  type GrantAsked,
  type GrantRefused,
  revokeGrant,
  shownOf,
  takeGrant,
} from '../../../src/authority/grants/grant';
import '../../support/properties';
import { claimUse, type UseAsked } from '../../../src/authority/grants/claim-use';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const DIGEST = 'a'.repeat(64);
const LONG = { kind: 'ssh' as const, armored: 'x'.repeat(16 * 1024), at: iso(NOW), notAfter: iso(NOW) };

const asked = (part: Partial<GrantAsked> = {}): GrantAsked => ({
  ...{ id: uuid(1), agent: 'clerk', tool: 'pay', toolDigest: DIGEST, ruleDigest: '', policyDigest: '' },
  narrowing: { cents: { is: 'range', max: 100 } },
  ...{ times: 3, at: iso(NOW), until: iso(NOW + 30 * MINUTE), by: 'ann' },
  ...part,
});
const use = (part: Partial<UseAsked> = {}): UseAsked => {
  const { agent, tool, toolDigest, ruleDigest, policyDigest } = asked();
  return { agent, tool, toolDigest, ruleDigest, policyDigest, ...part };
};
const given = (part: Partial<GrantAsked> = {}): Grant => taken(takeGrant(asked(part), NOW));

function taken(answer: Grant | GrantRefused): Grant {
  if ('code' in answer) throw new Error(answer.message);
  return answer;
}

describe('giving a grant', () => {
  it('keeps what was given, and when it was taken', () => {
    expect(given()).toEqual({ ...asked(), takenAt: iso(NOW), used: 0 });
  });

  it.each<[string, Partial<GrantAsked>, string, RegExp]>([
    ['over already', { at: iso(NOW - 2 * MINUTE), until: iso(NOW) }, 'refused', /over already/],
    ['that ends before it begins', { at: iso(NOW + 2), until: iso(NOW + 1) }, 'refused', /over already/],
    ['for 31 days', { until: iso(NOW + 31 * 1440 * MINUTE) }, 'refused', /at most 30 days/],
    ['from the future', { at: iso(NOW + 11 * MINUTE) }, 'refused', /dated in the future/],
    ['for 501 calls', { times: 501 }, 'malformed', /at most 500 calls/],
    ['that climbs', { narrowing: { a: { is: 'prefix', prefix: '../' } } }, 'malformed', /climbs/],
    ['with a terminal sequence', { reason: 'x\u001b[2J' }, 'malformed', /control characters/],
    ['that no memo has room for', { signature: LONG }, 'full', /at most 16384 bytes, not/],
  ])('refuses one %s', (_case, part, code, why) => {
    expect(takeGrant(asked(part), NOW)).toEqual({ code, message: expect.stringMatching(why) });
  });
});

describe('the reason for the end of a grant', () => {
  it.each([
    ['a terminal sequence', 'x\u001b[2J', /control characters/],
    ['too many bytes', 'ü'.repeat(251), /over 500 bytes/],
  ])('is not taken with %s', (_case, reason, why) => {
    const refused = { code: 'malformed', message: expect.stringMatching(why) };
    expect(revokeGrant(given(), { reason })).toEqual(refused);
  });
});

describe('claiming a use', () => {
  it('counts down, and says no in the end', () => {
    const once = taken(claimUse(given({ times: 2 }), use(), NOW));
    const twice = taken(claimUse(once, use(), NOW));
    expect([once.used, twice.used]).toEqual([1, 2]);
    expect(claimUse(twice, use(), NOW)).toEqual({ code: 'grant_void', message: 'its 2 uses are claimed' });
  });

  it.each<[string, Partial<UseAsked>, RegExp]>([
    ['another tool', { tool: 'refund' }, /another tool or agent/],
    ['another agent', { agent: 'boss' }, /another tool or agent/],
    ['another version of the tool', { toolDigest: 'b'.repeat(64) }, /tool changed/],
    ['another rule', { ruleDigest: DIGEST }, /rule changed/],
    ['another policy rule', { policyDigest: DIGEST }, /rule changed/],
  ])('is refused for %s', (_case, part, why) => {
    const message = expect.stringMatching(why);
    expect(claimUse(given(), use(part), NOW)).toEqual({ code: 'grant_void', message });
  });

  it('is refused from the moment at which it ends', () => {
    expect(claimUse(given(), use(), NOW + 30 * MINUTE - 1)).toMatchObject({ used: 1 });
    expect(claimUse(given(), use(), NOW + 30 * MINUTE)).toMatchObject({ code: 'grant_void' });
  });
});

it('allows nothing once it was revoked, and shows it', () => {
  const revoked = taken(revokeGrant(given(), {}));
  expect(claimUse(revoked, use(), NOW)).toEqual({ code: 'grant_void', message: 'it was revoked' });
  expect(shownOf(revoked)).toMatchObject({ id: uuid(1), revoked: true });
});

/** What somebody does to a grant, at a time. */
const acts = fc.array(fc.tuple(fc.nat(12 * MINUTE), fc.constantFrom('use', 'use', 'use', 'revoke')), {
  maxLength: 30,
});

it('whatever comes in whatever order, it allows no more calls than it says, and none after its end', () => {
  fc.assert(
    fc.property(acts, fc.integer({ min: 1, max: 4 }), (list, times) => {
      let grant = given({ times });
      let now = NOW;
      let uses = 0;
      for (const [passed, act] of list) {
        now += passed;
        const next = act === 'use' ? claimUse(grant, use(), now) : revokeGrant(grant, {});
        if ('code' in next) continue;
        if (act === 'use') {
          uses += 1;
          expect(grant.revoked).toBeUndefined();
          expect(now).toBeLessThan(Date.parse(grant.until));
        }
        grant = next;
        expect(uses).toBeLessThanOrEqual(times);
        expect(grant.used).toBe(uses);
        expect(isGrantShown(JSON.parse(JSON.stringify(shownOf(grant))))).toBe(true);
      }
    }),
  );
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

  it('is a use, a revocation and a memo only in its form', () => {
    expect(isUseAsked(use())).toBe(true);
    expect(isUseAsked({ ...use(), key: 'call' })).toBe(false);
    expect(isRevokeAsked({ by: 'ann' })).toBe(true);
    expect(isRevokeAsked({ id: uuid(1) })).toBe(false);
    for (const wrong of [undefined, {}, [], asked(), { ...shownOf(given()), used: 1 }])
      expect(isGrantShown(wrong)).toBe(false);
  });
});

it('shows that others have to confirm it, but not who', () => {
  const rule = { name: 'r', then: 'ask' as const, need: 2, groups: [], rosters: [], notRequester: false };
  const authority = {
    ...{ fileDigest: '', ruleDigest: '', requesters: [] },
    rule: { ...rule, denyNeeds: 1, assurance: 'claimed' as const },
  };
  const shown = shownOf(given({ authority }));
  expect(shown).toMatchObject({ needsOthers: true });
  expect(shown).not.toHaveProperty('authority');
});
