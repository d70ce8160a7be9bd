import type { VoteRule } from '../../../src/contract/authority/rule';
import { seatingOf } from '../../../src/contract/authority/who-may-vote';
import { people, rule } from './support';

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
    ['anna', { notRequester: true }, ['ANNA'], 'requester'],
    ['dora', { notRequester: true }, ['anna'], 'requesters_delegate'],
    ['dora', { notRequester: true }, ['Anna'], 'requesters_delegate'],
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

  it.each([
    ['bob', 'Anna', 'requesters_delegate'],
    ['bob', 'BOB', 'own_place'],
  ])('%s in the place of %s: %s', (name, person, why) => {
    const seatingFor = seatingOf(rule({ notRequester: true }), { people, requesters: ['anna'] });
    expect(seatingFor(name, { person, entry: 'e' })).toEqual({ ok: false, why });
  });
});
