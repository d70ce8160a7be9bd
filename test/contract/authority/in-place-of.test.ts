import fc from 'fast-check';
import { type Authority, votingOf } from '../../../src/contract/authority/authority';
import { countVotesUnder } from '../../../src/contract/authority/votes-needed';
import { asksForPlace, choosePlace, placesOf } from '../../../src/contract/authority/in-place-of';
import type { CastVote, Voter } from '../../../src/contract/authority/votes';
import type { RuleSnapshot } from '../../../src/contract/authority/rule';
import type { Away } from '../../../src/contract/control/away';
import '../../support/properties';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const iso = (ms: number): string => new Date(NOW + ms).toISOString();
const person = (name: string, groups: string[], delegates: string[] = []): Voter => ({
  name,
  groups,
  delegates,
});
const PEOPLE = [
  person('dora', ['finance']),
  person('ed', ['finance'], ['fay']),
  person('rita', ['finance'], ['sam']),
  person('fay', []),
  person('sam', []),
];
const under = (changes: Partial<RuleSnapshot> = {}, people: Authority['people'] = PEOPLE): Authority => ({
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'] },
  ...(people === undefined ? {} : { people }),
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 1, groups: [] },
    ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
    ...changes,
  },
});
const away = (from: string, to: string, start = 0, end = 1000): Away => ({
  ...{ id: `${from}-${to}`, from, to, start: iso(start), end: iso(end), at: iso(0), takenAt: iso(0) },
});
const inPlaceOf = (name: string) => ({ person: name, entry: 'e' });

it.each<[voter: string, place: string, why: string | undefined, changes?: Partial<RuleSnapshot>]>([
  ['xena', 'dora', undefined],
  ['ed', 'dora', undefined],
  ['xena', 'xena', 'own_place'],
  ['dora', 'dora', 'own_place'],
  ['xena', 'fay', 'place_not_named'],
  ['xena', 'nobody', 'place_not_named'],
  ['xena', 'rita', 'requesters_delegate'],
  ['rita', 'dora', 'requester'],
  ['sam', 'dora', 'requesters_delegate'],
  ['xena', 'rita', undefined, { notRequester: false }],
])('lets %s vote in the place of %s: %s', (...[voter, place, why, changes]) => {
  const voting = votingOf(under(changes), voter, inPlaceOf(place));
  expect(voting).toEqual(why === undefined ? { ok: true, voter } : { ok: false, why });
});

it('needs nobody in whose place to vote where everybody may', () => {
  const anybody: Authority = { ...under({ rosters: [] }) };
  delete anybody.people;
  expect(votingOf(anybody, 'xena', inPlaceOf('dora'))).toEqual({ ok: false, why: 'no_places' });
  expect(asksForPlace({ authority: anybody, approver: 'xena' })).toBe(false);
});

it.each<[string, string, Away[], string[]]>([
  ['one', 'xena', [away('dora', 'xena')], ['dora']],
  ['two', 'XENA', [away('dora', 'xena'), away('ed', 'xena')], ['dora', 'ed']],
  ['none that has not begun', 'xena', [away('dora', 'xena', 1)], []],
  ['none that is over', 'xena', [away('dora', 'xena', -1, 0)], []],
  ['none of another delegate', 'yan', [away('dora', 'xena')], []],
  ['none of a delegate of the file', 'xena', [away('fay', 'xena')], []],
  ['none of who asked', 'xena', [away('rita', 'xena')], []],
  ['none of a delegate of who asked', 'xena', [away('rita', 'dora'), away('dora', 'xena')], []],
  ['none of whose delegate who asked is', 'xena', [away('rita', 'XENA'), away('dora', 'xena')], []],
])('finds %s in whose place somebody may vote', (_what, voter, entries, expected) => {
  const found = placesOf(under(), voter, { entries, now: NOW });
  expect(found.map(({ person: name }) => name)).toEqual(expected);
});

const DORA_NAMED = { person: 'dora' };
const [DORA, ED] = [away('dora', 'xena'), away('ed', 'xena')];
const place = (name: string) => ({
  place: { person: name, entry: `${name}-xena`, until: iso(1000) },
});
const both = { why: 'ambiguous', people: ['dora', 'ed'] };
const notTheirs = { why: 'not_theirs' };

/** The one rule by which terminal, web inbox and Slack choose. */
it.each<[what: string, found: object, Away[], Partial<Parameters<typeof choosePlace>[0]>]>([
  ['the one place of who is not named', place('dora'), [DORA], {}],
  ['none where nobody is away', {}, [], {}],
  ['none of two', both, [DORA, ED], {}],
  ['none of who is named', {}, [away('dora', 'ed')], { approver: 'ed' }],
  ['none where no rule says who decides', {}, [DORA], { authority: undefined }],
  ['none of the delegate of who asked', {}, [DORA, away('rita', 'xena')], {}],
  ['the one that is named', place('ed'), [DORA, ED], { named: { person: 'ED' } }],
  [
    'the one that is named with its entry',
    place('ed'),
    [DORA, ED],
    { named: { person: 'ed', entry: ED.id } },
  ],
  ['none of another entry', notTheirs, [DORA, ED], { named: { person: 'ed', entry: DORA.id } }],
  ['none of somebody who is not away', notTheirs, [DORA], { named: { person: 'ed' } }],
  ['none of who asked', notTheirs, [away('rita', 'xena')], { named: { person: 'rita' } }],
  ['none by name where no rule', { why: 'no_rule' }, [DORA], { authority: undefined, named: DORA_NAMED }],
  [
    'the one that a named person names',
    { place: { person: 'dora', entry: 'dora-ed', until: iso(1000) } },
    [away('dora', 'ed')],
    { approver: 'ed', named: DORA_NAMED },
  ],
])('chooses %s', (_what, found, entries, voting) => {
  const asked = { authority: under(), approver: 'xena', ...voting };
  expect(choosePlace(asked, { entries, now: NOW })).toEqual(found);
});

it('knows who has to vote in a place to vote at all', () => {
  const names = ['xena', 'dora', 'fay', 'rita'];
  const asks = (approver: string): boolean => asksForPlace({ authority: under(), approver });
  expect(names.map(asks)).toEqual([true, false, false, false]);
  expect(asksForPlace({ authority: under(), approver: 'dora', named: { person: 'ed' } })).toBe(true);
  expect(asksForPlace({ authority: undefined, approver: 'xena' })).toBe(false);
});

it('counts one vote a person and one a seat, whatever is cast', () => {
  const vote: fc.Arbitrary<CastVote> = fc.record(
    {
      voter: fc.constantFrom('dora', 'ed', 'xena', 'yan', 'fay'),
      decision: fc.constantFrom('approved' as const, 'denied' as const),
      inPlaceOf: fc.constantFrom('dora', 'ed', 'rita', 'fay', 'xena').map(inPlaceOf),
    },
    { requiredKeys: ['voter', 'decision'] },
  );
  fc.assert(
    fc.property(fc.array(vote, { maxLength: 8 }), (votes) => {
      const { counted } = countVotesUnder(under({ need: 2 }), votes);
      const [voters, seats] = [counted.map(({ voter }) => voter), counted.map(({ seat }) => seat)];
      expect(new Set(voters).size).toBe(voters.length);
      expect(new Set(seats).size).toBe(seats.length);
      // Only those whom the rule names have a seat, and who asked has none.
      expect(seats.every((seat) => seat === 'dora' || seat === 'ed')).toBe(true);
    }),
  );
});
