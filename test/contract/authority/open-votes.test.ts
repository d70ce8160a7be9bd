import fc from 'fast-check';
import {
  type Authority,
  escalatedAuthority,
  votersOf,
  votingOf,
} from '../../../src/contract/authority/authority';
import { isPlaceOf, newVotersOf, votingUnder, waitsFor } from '../../../src/contract/authority/open-votes';
import type { CastVote, Voter } from '../../../src/contract/authority/votes';
import type { RuleSnapshot } from '../../../src/contract/authority/rule';

const person = (name: string, groups: string[] = [], delegates: string[] = []): Voter => {
  return { name, groups, delegates };
};
const PEOPLE = [
  person('anna', ['finance'], ['dora']),
  person('bob', ['finance']),
  person('dora'),
  person('lea', ['leads']),
  person('leo', ['leads', 'finance']),
];
const authority = (rule: Partial<RuleSnapshot> = {}, more: Partial<Authority> = {}): Authority => ({
  ...{ fileDigest: 'f', ruleDigest: 'r', people: PEOPLE, requesters: ['rita'] },
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 1, groups: [] },
    ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
    ...rule,
  },
  ...more,
});
const late = authority({ escalate: { afterMs: 1, to: ['group:leads'] } });
const vote = (voter: string): CastVote => ({ voter, decision: 'approved' });

it('says in short who voted, what is missing, and among whom voters are looked for', () => {
  expect(votingUnder(authority({ need: 2 }), [{ ...vote('bob'), signedBy: 'ssh' }])).toEqual({
    votes: [{ voter: 'bob', decision: 'approved', signedBy: 'ssh' }],
    needs: { approvals: 1, who: ['anna', 'dora', 'leo'] },
    among: { rosters: [['group:finance']] },
  });
});

it('names whom an escalation brought in, and not who could vote before', () => {
  expect(votingUnder(escalatedAuthority(late), [])).toMatchObject({
    ...{ escalated: true, escalatedTo: ['lea'] },
    among: { rosters: [['group:finance', 'group:leads']] },
  });
  expect(newVotersOf(late)).toEqual(['lea']);
  expect(votingUnder(escalatedAuthority(authority()), []).escalatedTo).toBeUndefined();
  const { people: _, ...anybody } = late;
  expect([newVotersOf(anybody), votersOf(anybody)]).toEqual([[], undefined]);
});

it('leaves out rosters that have no room in a memo', () => {
  const rosters = [Array.from({ length: 100 }, (_, at) => `person-${at}`)];
  expect(votingUnder(authority({ rosters }), []).among).toBeUndefined();
});

describe('whether it waits for somebody', () => {
  const ask = (who: string, rule: Authority, votes: CastVote[] = [], people = PEOPLE): boolean =>
    waitsFor({ person: who, people }, { voting: votingUnder(rule, votes) });
  it.each<[string, boolean, string, Authority, CastVote[]?, Voter[]?]>([
    ['a name of the group', true, 'bob', authority()],
    ['a delegate', true, 'dora', authority()],
    ['somebody else', false, 'lea', authority()],
    ['a stranger', false, 'eve', authority()],
    ['who voted already', false, 'bob', authority({ need: 2 }), [vote('bob')]],
    ['whom it was escalated to', true, 'lea', escalatedAuthority(late)],
    ['who would be asked later', false, 'lea', late],
    ['who asked for it', false, 'bob', authority({ notRequester: true }, { requesters: ['bob'] })],
    ['a delegate of who asked', false, 'dora', authority({ notRequester: true }, { requesters: ['anna'] })],
    [
      'nobody, where nobody knows who asked',
      false,
      'bob',
      authority({ notRequester: true }, { requesters: [] }),
    ],
    ['who is in the group by now', true, 'lea', authority(), [], [person('lea', ['finance'])]],
    ['who left the group', false, 'bob', authority(), [], [person('bob')]],
  ])('%s: %s', (...[, expected, who, rule, votes, people]) => {
    expect(ask(who, rule, votes, people)).toBe(expected);
  });

  describe('in the place of somebody who is away', () => {
    const stands = (person: string, voter = 'lea') => [{ person, voter }];
    const four = (asked: string): Authority => authority({ notRequester: true }, { requesters: [asked] });
    const two = authority({ need: 2 });
    const inPlace = { ...vote('dora'), inPlaceOf: { person: 'bob', entry: 'e' } };
    it.each<[string, boolean, ReturnType<typeof stands>, Authority, CastVote[]?]>([
      ['of whom the rule names', true, stands('bob'), authority()],
      ['where it is for another', false, stands('bob', 'dora'), authority()],
      ['of a delegate of the file', false, stands('dora'), authority()],
      ['of a stranger', false, stands('eve'), authority()],
      ['of who voted', false, stands('bob'), two, [vote('bob')]],
      ['that somebody took', false, stands('bob'), two, [inPlace]],
      ['where the delegate voted', false, stands('bob'), two, [vote('lea')]],
      ['of who asked', false, stands('bob'), four('bob')],
      ['of another than who asked', true, stands('bob'), four('anna')],
    ])('%s: %s', (...[, expected, standIns, rule, votes = []]) => {
      const voting = votingUnder(rule, votes);
      expect(waitsFor({ person: 'lea', people: PEOPLE, standIns }, { voting })).toBe(expected);
    });

    it('keeps who stands in for who asked from what they could decide themselves', () => {
      const voting = votingUnder(four('anna'), []);
      expect(waitsFor({ person: 'bob', people: PEOPLE }, { voting })).toBe(true);
      const standIns = stands('anna', 'bob');
      expect(waitsFor({ person: 'bob', people: PEOPLE, standIns }, { voting })).toBe(false);
    });

    it('keeps who stands in for who asked from every place, too', () => {
      const voting = votingUnder(four('anna'), []);
      const standIns = [...stands('bob'), ...stands('ANNA')];
      const whom = { person: 'lea', people: PEOPLE };
      expect(isPlaceOf({ ...whom, standIns: stands('bob') }, 'bob', voting)).toBe(true);
      expect(isPlaceOf({ ...whom, standIns }, 'bob', voting)).toBe(false);
      expect(waitsFor({ ...whom, standIns }, { voting })).toBe(false);
    });

    it('goes by the names of the request where there is no file', () => {
      const voting = votingUnder(authority(), []);
      const asks = (person: string): boolean =>
        waitsFor({ person: 'lea', standIns: stands(person) }, { voting });
      expect([asks('bob'), asks('eve')]).toEqual([true, false]);
    });
  });

  it('may be anybody where no rule says who, or where it does not say among whom', () => {
    const eve = { person: 'eve', people: PEOPLE };
    expect(waitsFor(eve, {})).toBe(true);
    expect(waitsFor(eve, { voting: { votes: [], needs: { approvals: 1, who: [] } } })).toBe(true);
  });

  it('goes by the names of the request where there is no file', () => {
    const voting = votingUnder(authority(), []);
    expect(['bob', 'eve'].map((person) => waitsFor({ person }, { voting }))).toEqual([true, false]);
    const who = Array.from({ length: 10 }, (_, at) => `p-${at}`);
    expect(waitsFor({ person: 'eve' }, { voting: { votes: [], needs: { approvals: 1, who } } })).toBe(true);
  });

  it('is as the turn says that somebody may vote, where the file is the same', () => {
    const names = PEOPLE.map(({ name }) => name);
    const roster = fc.subarray([...names, 'group:finance', 'group:leads'], { minLength: 1 });
    fc.assert(
      fc.property(
        fc.array(roster, { maxLength: 3 }),
        fc.subarray(names),
        fc.boolean(),
        (rosters, asked, four) => {
          const rule = authority({ rosters, notRequester: four }, { requesters: asked });
          for (const name of names) expect(ask(name, rule)).toBe(votingOf(rule, name).ok);
        },
      ),
    );
  });
});
