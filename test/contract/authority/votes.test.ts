import fc from 'fast-check';
import {
  actionFor,
  type CastVote,
  isAssured,
  seatingOf,
  standingOf,
  stricterAction,
  stricterRule,
  type Voter,
  type VoteRule,
} from '../../../src/contract/authority/votes';

const person = (name: string, groups: string[] = [], delegates: string[] = []): Voter => ({
  name,
  groups,
  delegates,
});
const rule = (changes: Partial<VoteRule> = {}): VoteRule => ({
  rosters: [['group:finance']],
  need: 1,
  groups: [],
  notRequester: false,
  denyNeeds: 1,
  assurance: 'claimed',
  ...changes,
});
const people = [
  person('anna', ['finance'], ['dora']),
  person('bob', ['finance', 'leads']),
  person('carl', ['finance']),
  person('dora', [], ['emil']),
  person('emil'),
];
const among = { people, requesters: ['zoe'] };
const votes = (text: string): CastVote[] =>
  text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({ voter: one.slice(1), decision: one.startsWith('+') ? 'approved' : 'denied' }));

describe('who may vote', () => {
  it.each<[string, Partial<VoteRule>, string[] | undefined, unknown]>([
    ['anna', {}, ['zoe'], ['anna']],
    ['bob', { rosters: [['bob']] }, ['zoe'], ['bob']],
    ['anna', { rosters: [['bob']] }, ['zoe'], 'not_named'],
    ['emil', {}, ['zoe'], 'not_named'],
    ['dora', {}, ['zoe'], ['anna']],
    ['nobody', {}, ['zoe'], 'unknown_person'],
    ['anna', { notRequester: true }, ['anna'], 'requester'],
    ['anna', { notRequester: true }, ['bob', 'anna'], 'requester'],
    ['dora', { notRequester: true }, ['anna'], 'requesters_delegate'],
    ['dora', { notRequester: true, rosters: [['dora']] }, ['anna'], 'requesters_delegate'],
    ['bob', { notRequester: true }, undefined, 'requester_unknown'],
    ['bob', { notRequester: true }, [], 'requester_unknown'],
    ['bob', {}, undefined, ['bob']],
    ['emil', { rosters: [] }, ['zoe'], ['emil']],
    ['anna', { rosters: [['group:finance'], ['group:leads']] }, ['zoe'], 'not_named'],
    ['bob', { rosters: [['group:finance'], ['group:leads']] }, ['zoe'], ['bob']],
  ])('%s under %j, asked by %j: %j', (name, changes, requesters, expected) => {
    const seating = seatingOf(rule(changes), { people, requesters })(name);
    expect(seating.ok ? seating.seats : seating.why).toEqual(expected);
  });
});

describe('how a request stands', () => {
  it.each<[string, Partial<VoteRule>, string, string, number, string[]]>([
    ['one of one', {}, '+anna', 'approved', 0, []],
    ['one of two', { need: 2 }, '+anna', 'open', 1, []],
    ['two of two', { need: 2 }, '+anna +bob', 'approved', 0, []],
    ['one person twice', { need: 2 }, '+anna +anna', 'open', 1, []],
    ['a person and their delegate', { need: 2 }, '+anna +dora', 'open', 1, []],
    ['a delegate of a delegate', { need: 2 }, '+bob +emil', 'open', 1, []],
    ['a stranger', {}, '+mallory', 'open', 1, []],
    ['one denial', { need: 2 }, '+anna +bob -carl', 'denied', 0, []],
    ['one denial of two', { need: 2, denyNeeds: 2 }, '+anna +bob -carl', 'approved', 0, []],
    ['a denial of a stranger', {}, '+anna -mallory', 'approved', 0, []],
    ['a changed mind', {}, '-anna +anna', 'approved', 0, []],
    ['a group that is not heard', { groups: ['leads', 'finance'] }, '+anna', 'open', 1, ['leads']],
    ['one person for two groups', { groups: ['leads', 'finance'] }, '+bob', 'open', 1, ['leads']],
    ['each group', { groups: ['leads', 'finance'] }, '+bob +anna', 'approved', 0, []],
    ['each group the other way', { groups: ['finance', 'leads'] }, '+anna +bob', 'approved', 0, []],
  ])('%s', (_name, changes, cast, state, missing, missingGroups) => {
    expect(standingOf(rule(changes), votes(cast), among)).toMatchObject({ state, missing, missingGroups });
  });

  it('names who may vote and has not', () => {
    expect(standingOf(rule(), votes('+anna'), among).mayVote).toEqual(['bob', 'carl', 'dora']);
  });

  it.each<[Partial<VoteRule>, string[] | undefined, boolean]>([
    [{ need: 3 }, ['zoe'], false],
    [{ need: 4 }, ['zoe'], true],
    [{ need: 3, notRequester: true }, ['carl'], true],
    [{ notRequester: true }, undefined, true],
    [{ groups: ['leads', 'none'] }, ['zoe'], true],
  ])('%j, asked by %j: stuck is %s', (changes, requesters, isStuck) => {
    expect(standingOf(rule(changes), [], { people, requesters }).isStuck).toBe(isStuck);
  });
});

describe('the stricter of two', () => {
  it('holds on every point', () => {
    const one = rule({ need: 2, assurance: 'signed', expiresMs: 9, escalate: { afterMs: 5, to: ['bob'] } });
    const other = rule({
      ...{ rosters: [['bob'], ['group:finance']], groups: ['leads'], notRequester: true, denyNeeds: 2 },
      ...{ assurance: 'signed_in', expiresMs: 4, escalate: { afterMs: 7, to: ['anna'] } },
    });
    expect(stricterRule(one, other)).toEqual({
      ...{
        rosters: [['group:finance'], ['bob']],
        need: 2,
        groups: ['leads'],
        notRequester: true,
        denyNeeds: 1,
      },
      ...{ assurance: 'signed', expiresMs: 4, escalate: { afterMs: 5, to: ['bob'] } },
    });
  });

  it.each([
    ['run', 'dangerous', 'ask'],
    ['run', 'safe', 'run'],
    ['by_safety', 'dangerous', 'ask'],
    ['by_safety', 'cautious', 'run'],
    ['ask', 'safe', 'ask'],
    ['refuse', 'safe', 'refuse'],
  ] as const)('%s for a %s tool is %s', (action, safety, expected) => {
    expect(actionFor(action, safety)).toBe(expected);
    expect(stricterAction(action, 'run', safety)).toBe(expected);
    expect(stricterAction('refuse', action, safety)).toBe('refuse');
  });

  it('knows which assurance is more', () => {
    expect(isAssured('signed_in', 'signed')).toBe(false);
    expect(isAssured('signed_ssh', 'signed')).toBe(true);
  });
});

const names = people.map(({ name }) => name);
const anyRule = fc.record({
  rosters: fc.array(
    fc.uniqueArray(fc.constantFrom(...names, 'group:finance', 'group:leads'), { minLength: 1 }),
    {
      maxLength: 2,
    },
  ),
  need: fc.integer({ min: 1, max: 4 }),
  groups: fc.uniqueArray(fc.constantFrom('finance', 'leads')),
  notRequester: fc.boolean(),
  denyNeeds: fc.integer({ min: 1, max: 3 }),
  assurance: fc.constantFrom('claimed' as const, 'signed' as const),
});
const anyVotes = fc.array(
  fc.record({
    voter: fc.constantFrom(...names, 'mallory'),
    decision: fc.constantFrom('approved' as const, 'denied' as const),
  }),
);
const anyRequesters = fc.uniqueArray(fc.constantFrom(...names, 'zoe'));

it('approves only with as many people as are needed, none of them twice, a stranger or who asked', () => {
  fc.assert(
    fc.property(anyRule, anyVotes, anyRequesters, (one, cast, requesters) => {
      const { state, counted } = standingOf(one, cast, { people, requesters });
      expect(new Set(counted.map(({ voter }) => voter)).size).toBe(counted.length);
      expect(new Set(counted.map(({ seat }) => seat)).size).toBe(counted.length);
      for (const { voter, seat } of counted) {
        const last = cast.filter((vote) => vote.voter === voter).at(-1);
        expect(last?.decision).toBe('approved');
        expect(
          voter === seat || people.some(({ name, delegates }) => name === seat && delegates.includes(voter)),
        ).toBe(true);
        if (one.notRequester) expect(requesters).not.toContain(voter);
        if (one.notRequester) expect(requesters).not.toContain(seat);
      }
      if (state === 'approved')
        expect(counted.length).toBeGreaterThanOrEqual(Math.max(one.need, one.groups.length));
    }),
  );
});

it('never approves by the stricter of two rules what one of them does not', () => {
  fc.assert(
    fc.property(anyRule, anyRule, anyVotes, anyRequesters, (one, other, cast, requesters) => {
      const at = { people, requesters };
      if (standingOf(stricterRule(one, other), cast, at).state !== 'approved') return;
      // A delegate may stand in for somebody else under the one rule, yet never count twice.
      for (const each of [one, other]) {
        const { counted, state } = standingOf(each, cast, at);
        expect(counted.length).toBeGreaterThanOrEqual(each.need);
        expect(state).not.toBe('denied');
      }
    }),
  );
});
