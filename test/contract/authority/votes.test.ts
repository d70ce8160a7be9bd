import {
  actionFor,
  isAssured,
  seatingOf,
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
