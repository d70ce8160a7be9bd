import fc from 'fast-check';
import { votersOf, votingOf } from '../../../src/authority/votes/voters';
import { newVotersOf, votingUnder } from '../../../src/authority/votes/open-votes';
import { person } from './support';
import type { RuleSnapshot, DatedVote, Voter, Authority } from '../../../src/contract/authority';
import { waitsFor } from '../../../src/authority/votes/waits-for';

const NOW = Date.parse('2026-12-24T12:00:00.000Z');

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
const vote = (voter: string): DatedVote => ({
  ...{ voter, decision: 'approved', at: new Date(NOW).toISOString() },
});

it('says in short who voted, what is missing, and among whom voters are looked for', () => {
  expect(votingUnder(authority({ need: 2 }), [{ ...vote('bob'), signedBy: 'ssh' }], NOW)).toEqual({
    votes: [{ voter: 'bob', decision: 'approved', signedBy: 'ssh' }],
    needs: { approvals: 1, who: ['anna', 'dora', 'leo'] },
    among: { rosters: [['group:finance']] },
  });
});

it('names whom an escalation brought in, and not who could vote before', () => {
  expect(votingUnder({ ...late, escalated: true as const }, [], NOW)).toMatchObject({
    ...{ escalated: true, escalatedTo: ['lea'] },
    among: { rosters: [['group:finance', 'group:leads']] },
  });
  expect(newVotersOf(late, NOW)).toEqual(['lea']);
  expect(votingUnder({ ...authority(), escalated: true as const }, [], NOW).escalatedTo).toBeUndefined();
  const { people: _, ...anybody } = late;
  expect([newVotersOf(anybody, NOW), votersOf(anybody, NOW)]).toEqual([[], undefined]);
});

it('leaves out rosters that have no room in a memo', () => {
  const rosters = [Array.from({ length: 100 }, (_, at) => `person-${at}`)];
  expect(votingUnder(authority({ rosters }), [], NOW).among).toBeUndefined();
});

describe('whether it waits for somebody', () => {
  const ask = (who: string, rule: Authority, votes: DatedVote[] = [], people = PEOPLE): boolean =>
    waitsFor({ person: who, people }, { voting: votingUnder(rule, votes, NOW) }, NOW);
  it.each<[string, boolean, string, Authority, DatedVote[]?, Voter[]?]>([
    ['a name of the group', true, 'bob', authority()],
    ['a delegate', true, 'dora', authority()],
    ['somebody else', false, 'lea', authority()],
    ['a stranger', false, 'eve', authority()],
    ['who voted already', false, 'bob', authority({ need: 2 }), [vote('bob')]],
    ['whom it was escalated to', true, 'lea', { ...late, escalated: true as const }],
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

  it('goes by who is a delegate now', () => {
    const until = new Date(NOW).toISOString();
    const people = [{ ...person('anna', ['finance']), delegates: [{ name: 'dora', until }] }, person('dora')];
    const voting = votingUnder(authority(), [], NOW);
    const asks = (now: number): boolean => waitsFor({ person: 'dora', people }, { voting }, now);
    expect([asks(NOW - 1), asks(NOW)]).toEqual([true, false]);
  });

  it('may be anybody where no rule says who, or where it does not say among whom', () => {
    const eve = { person: 'eve', people: PEOPLE };
    expect(waitsFor(eve, {}, NOW)).toBe(true);
    expect(waitsFor(eve, { voting: { votes: [], needs: { approvals: 1, who: [] } } }, NOW)).toBe(true);
  });

  it('goes by the names of the request where there is no file', () => {
    const voting = votingUnder(authority(), [], NOW);
    expect(['bob', 'eve'].map((person) => waitsFor({ person }, { voting }, NOW))).toEqual([true, false]);
    const who = Array.from({ length: 10 }, (_, at) => `p-${at}`);
    expect(waitsFor({ person: 'eve' }, { voting: { votes: [], needs: { approvals: 1, who } } }, NOW)).toBe(
      true,
    );
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
          for (const name of names) expect(ask(name, rule)).toBe(votingOf(rule, name, NOW).ok);
        },
      ),
    );
  });
});
