import fc from 'fast-check';
import { stricterRule } from '../../../src/authority/rules/stricter-rule';
import {
  countVotes,
  countVotesUnder,
  stillNeeded,
  stillNeededText,
} from '../../../src/authority/votes/count-votes';
import { people, person, rule } from './support';
import type { VoteRule, DatedVote, Authority } from '../../../src/contract/authority';

const NOW = Date.parse('2026-12-24T12:00:00.000Z');
const at = new Date(NOW).toISOString();
const among = { people, requesters: ['zoe'], now: NOW };
const votes = (text: string): DatedVote[] =>
  text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({ voter: one.slice(1), decision: one.startsWith('+') ? 'approved' : 'denied', at }));

describe('whether votes are enough', () => {
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
    ['two denials on one seat', { denyNeeds: 2 }, '-anna -dora', 'open', 1, []],
    ['two denials', { denyNeeds: 2 }, '-anna -bob', 'denied', 1, []],
    ['a denial of a stranger', {}, '+anna -mallory', 'approved', 0, []],
    ['a changed mind', {}, '-anna +anna', 'approved', 0, []],
    ['a group that is not heard', { groups: ['leads', 'finance'] }, '+anna', 'open', 1, ['leads']],
    ['one person for two groups', { groups: ['leads', 'finance'] }, '+bob', 'open', 1, ['leads']],
    ['each group', { groups: ['leads', 'finance'] }, '+bob +anna', 'approved', 0, []],
    ['each group the other way', { groups: ['finance', 'leads'] }, '+anna +bob', 'approved', 0, []],
  ])('%s', (_name, changes, cast, state, missing, missingGroups) => {
    expect(countVotes(rule(changes), votes(cast), among)).toMatchObject({ state, missing, missingGroups });
  });

  it('names who may vote and has not', () => {
    expect(countVotes(rule(), votes('+anna'), among).mayVote).toEqual(['bob', 'carl', 'dora']);
  });

  it('counts the vote of a delegate by the time of the vote, and not by the time of the count', () => {
    const dated = [
      { ...person('anna', ['finance']), delegates: [{ name: 'dora', until: at }] },
      person('dora'),
    ];
    const counted = (castAt: number, now: number) =>
      countVotes(rule(), [{ voter: 'dora', decision: 'approved', at: new Date(castAt).toISOString() }], {
        ...{ people: dated, requesters: ['zoe'], now },
      });
    expect(counted(NOW - 1, NOW + 1)).toMatchObject({
      state: 'approved',
      counted: [{ voter: 'dora', seat: 'anna' }],
    });
    expect(counted(NOW, NOW - 1)).toMatchObject({ state: 'open', mayVote: ['anna'] });
    expect(countVotes(rule(), [], { people: dated, requesters: ['zoe'], now: NOW }).mayVote).toEqual([
      'anna',
    ]);
  });

  it.each<[Partial<VoteRule>, string[] | undefined, boolean]>([
    [{ need: 3 }, ['zoe'], false],
    [{ need: 4 }, ['zoe'], true],
    [{ need: 3, notRequester: true }, ['carl'], true],
    [{ notRequester: true }, undefined, true],
    [{ groups: ['leads', 'none'] }, ['zoe'], true],
  ])('%j, asked by %j: stuck is %s', (changes, requesters, isStuck) => {
    expect(countVotes(rule(changes), [], { people, requesters, now: NOW }).isStuck).toBe(isStuck);
  });
});

describe('under an authority', () => {
  const authority = (changes: Partial<VoteRule> = {}): Authority => ({
    ...{ fileDigest: 'f', ruleDigest: 'r', people, requesters: ['zoe'] },
    rule: { ...rule(changes), name: 'large', then: 'ask' },
  });

  it('says who is still needed, as data and in words', () => {
    const two = authority({ need: 2, groups: ['leads'] });
    const count = countVotesUnder(two, votes('+anna'), NOW);
    expect(stillNeeded(count)).toEqual({ approvals: 1, who: ['bob', 'carl', 'dora'], groups: ['leads'] });
    expect(stillNeededText(two, count)).toBe("the rule 'large' needs 1 more (of leads) of: bob, carl, dora");
  });

  it('names ten people at most', () => {
    const many = Array.from({ length: 12 }, (_, at) => person(`p${at}`, ['finance']));
    expect(stillNeeded(countVotesUnder({ ...authority(), people: many }, [], NOW)).who).toHaveLength(10);
  });

  it('takes the vote of somebody to whom it was escalated', () => {
    const late = authority({ escalate: { afterMs: 1, to: ['emil'] } });
    expect(countVotesUnder(late, votes('+emil'), NOW).state).toBe('open');
    expect(countVotesUnder({ ...late, escalated: true as const }, votes('+emil'), NOW).state).toBe(
      'approved',
    );
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
    at: fc.constant(at),
  }),
);
const anyRequesters = fc.uniqueArray(fc.constantFrom(...names, 'zoe'));

it('approves only with as many people as are needed, none of them twice, a stranger or who asked', () => {
  fc.assert(
    fc.property(anyRule, anyVotes, anyRequesters, (one, cast, requesters) => {
      const { state, counted } = countVotes(one, cast, { people, requesters, now: NOW });
      expect(new Set(counted.map(({ voter }) => voter)).size).toBe(counted.length);
      expect(new Set(counted.map(({ seat }) => seat)).size).toBe(counted.length);
      for (const { voter, seat } of counted) {
        const last = cast.filter((vote) => vote.voter === voter).at(-1);
        expect(last?.decision).toBe('approved');
        expect(
          voter === seat ||
            people.some(
              ({ name, delegates }) => name === seat && delegates.some((one) => one.name === voter),
            ),
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
      const asked = { people, requesters, now: NOW };
      if (countVotes(stricterRule(one, other), cast, asked).state !== 'approved') return;
      // A delegate may stand in for somebody else under the one rule, yet never count twice.
      for (const each of [one, other]) {
        const { counted, state } = countVotes(each, cast, asked);
        expect(counted.length).toBeGreaterThanOrEqual(each.need);
        expect(state).not.toBe('denied');
      }
    }),
  );
});
