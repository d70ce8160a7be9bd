import { seatingOf } from '../../../src/authority/votes/who-may-vote';
import { people, person, rule } from './support';
import type { VoteRule } from '../../../src/contract/authority';

const NOW = Date.parse('2026-12-24T12:00:00.000Z');

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
    const seating = seatingOf(rule(changes), { people, requesters })(name, NOW);
    expect(seating.ok ? seating.seats : seating.why).toEqual(expected);
  });

  describe('a delegate with a time', () => {
    const iso = (ms: number): string => new Date(ms).toISOString();
    const [from, until] = [iso(NOW), iso(NOW + 1000)];
    const among = (dated: object) => [
      { ...person('anna', ['finance']), delegates: [{ name: 'dora', ...dated }] },
      person('bob', ['finance']),
      person('dora'),
    ];

    it.each<[string, object, number, boolean]>([
      ['before it begins', { from, until }, NOW - 1, false],
      ['when it begins', { from, until }, NOW, true],
      ['right before it ends', { from, until }, NOW + 999, true],
      ['when it ends', { from, until }, NOW + 1000, false],
      ['long after a beginning without an end', { from }, NOW * 2, true],
      ['before a beginning without an end', { from }, NOW - 1, false],
      ['long before an end without a beginning', { until }, 0, true],
      ['after an end without a beginning', { until }, NOW + 1000, false],
      ['at any time without one', {}, NOW, true],
      ['at a time that cannot be read', { from: 'soon' }, NOW, false],
      ['until a time that cannot be read', { until: 'later' }, NOW, false],
    ])('%s', (_case, dated, moment, isDelegate) => {
      const asked = { people: among(dated), requesters: ['zoe'] };
      const seating = isDelegate ? { ok: true, seats: ['anna'] } : { ok: false, why: 'not_named' };
      expect(seatingOf(rule(), asked)('dora', moment)).toEqual(seating);
    });

    it('is kept from voting only then, where the other person asked', () => {
      const seatingFor = seatingOf(rule({ notRequester: true, rosters: [['dora']] }), {
        people: among({ from, until }),
        requesters: ['anna'],
      });
      expect(seatingFor('dora', NOW)).toEqual({ ok: false, why: 'requesters_delegate' });
      expect(seatingFor('dora', NOW + 1000)).toEqual({ ok: true, seats: ['dora'] });
    });
  });

  it('a delegate of who asked passes on no seat either', () => {
    const all = [person('anna', ['finance'], ['bob']), person('bob', ['finance'], ['carl']), person('carl')];
    const seatingFor = seatingOf(rule({ notRequester: true }), { people: all, requesters: ['anna'] });
    expect(seatingFor('carl', NOW)).toEqual({ ok: false, why: 'not_named' });
  });
});
