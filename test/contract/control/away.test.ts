import fc from 'fast-check';
import {
  addAway,
  type AwayAsked,
  type AwayState,
  endAway,
  isOpenAt,
  nobodyAway,
} from '../../../src/contract/control/away';
import {
  isAway,
  isAwayAsked,
  isAwaySeen,
  isBackAsked,
  readAway,
} from '../../../src/contract/control/away-forms';
import { LIMITS } from '../../../src/contract/limits';
import '../../support/properties';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const iso = (ms: number): string => new Date(ms).toISOString();
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const asked = (part: Partial<AwayAsked> = {}): AwayAsked => ({
  ...{ id: uuid(1), from: 'dora', to: 'xena' },
  ...{ start: iso(NOW), end: iso(NOW + DAY), at: iso(NOW) },
  ...part,
});

function after(...all: AwayAsked[]): AwayState {
  return all.reduce((state: AwayState, one) => {
    const added = addAway(state, one, NOW);
    if (!('state' in added)) throw new Error(added.message);
    return added.state;
  }, nobodyAway());
}

it('takes one, and the same one again without a change', () => {
  const state = after(asked());
  expect(state.entries).toEqual([{ ...asked(), takenAt: iso(NOW) }]);
  expect(addAway(state, asked(), NOW + MINUTE)).toMatchObject({ state, entry: state.entries[0] });
});

it.each<[string, Partial<AwayAsked>, RegExp, AwayAsked[]?]>([
  ['of another content by the same id', { to: 'yan' }, /another one of this id/, [asked()]],
  ['in the own place', { to: 'Dora' }, /nobody votes in their own place/],
  ['that is over', { start: iso(NOW - DAY), end: iso(NOW) }, /over already/],
  ['that ends before it starts', { end: iso(NOW - 1) }, /over already/],
  ['that starts when it ends', { end: iso(NOW) }, /over already/],
  ['for more than 30 days', { end: iso(NOW + 30 * DAY + 1) }, /at most 30 days/],
  ['in more than a year', { start: iso(NOW + 367 * DAY), end: iso(NOW + 368 * DAY) }, /more than a year/],
  ['by a clock that is ahead', { at: iso(NOW + 10 * MINUTE + 1) }, /dated in the future/],
  ['with a reason that is too long', { reason: 'x'.repeat(501) }, /over 500 bytes/],
  ['while the person is away', { id: uuid(2), from: 'DORA' }, /is away then already.*xena votes/, [asked()]],
])('refuses one %s', (_what, part, why, before = []) => {
  const refused = addAway(after(...before), asked(part), NOW);
  expect(refused).toMatchObject({ code: expect.any(String), message: expect.stringMatching(why) });
});

it.each<[string, Partial<AwayAsked>]>([
  ['by a clock that is ten minutes ahead', { at: iso(NOW + 10 * MINUTE) }],
  ['for 30 days', { end: iso(NOW + 30 * DAY) }],
  ['that begins where another one ends', { id: uuid(2), start: iso(NOW + DAY), end: iso(NOW + 2 * DAY) }],
  ['of somebody else at the same time', { id: uuid(2), from: 'ed' }],
])('takes one %s', (_what, part) => {
  const { id = uuid(3) } = part;
  expect(
    addAway(part.id === undefined ? nobodyAway() : after(asked()), asked({ ...part, id }), NOW),
  ).toHaveProperty('entry');
});

it('ends one for good, and forgets it once it would be over', () => {
  const ended = endAway(after(asked()), { id: uuid(1), by: 'dora' }, NOW);
  if (!('state' in ended)) throw new Error(ended.message);
  expect(ended.state).toEqual({ entries: [], ended: [{ id: uuid(1), end: iso(NOW + DAY) }] });
  expect(addAway(ended.state, asked(), NOW)).toMatchObject({ message: 'it was ended' });
  expect(endAway(ended.state, { id: uuid(1), by: 'dora' }, NOW)).toMatchObject({ code: 'away_not_found' });
  const later = addAway(
    ended.state,
    asked({ id: uuid(2), start: iso(NOW + 2 * DAY), end: iso(NOW + 3 * DAY) }),
    NOW + 2 * DAY,
  );
  expect(later).toMatchObject({ state: { ended: [] } });
});

it('has room for as many as fit one payload', () => {
  const all = Array.from({ length: LIMITS.away }, (_, n) => asked({ id: uuid(n), from: `p${n}` }));
  const full = after(...all);
  expect(addAway(full, asked({ id: uuid(999), from: 'one more' }), NOW)).toMatchObject({ code: 'away_full' });
  expect(isAwaySeen({ entries: full.entries })).toBe(true);
  expect(full.entries.every(isAway)).toBe(true);
  expect(readAway(JSON.parse(JSON.stringify(full)))).toEqual(full);
});

it.each([
  [-1, false],
  [0, true],
  [DAY - 1, true],
  [DAY, false],
])('holds from its start on, and no more at its end: %d ms', (ms, expected) => {
  expect(isOpenAt(asked(), NOW + ms)).toBe(expected);
});

it.each([
  ['nothing', undefined],
  ['a field that nobody knows', { ...asked(), role: 'admin' }],
  ['a moment that is none', { ...asked(), end: '2026-02-31T00:00:00.000Z' }],
  ['an id that is none', { ...asked(), id: 'x' }],
  [
    'a passkey',
    { ...asked(), signature: { kind: 'passkey', armored: 'x', at: iso(NOW), notAfter: iso(NOW) } },
  ],
])('does not read %s', (_what, value) => {
  const kept = value && { takenAt: iso(NOW), ...value };
  expect([isAwayAsked(value), isBackAsked(value), isAway(kept)]).toEqual([false, false, false]);
});

it('never has two for one person at one moment, whatever comes in', () => {
  const step = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    from: fc.constantFrom('dora', 'DORA', 'ed'),
    to: fc.constantFrom('dora', 'xena'),
    start: fc.integer({ min: -3, max: 5 }),
    days: fc.integer({ min: -1, max: 4 }),
    isEnd: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const ended = new Set<string>();
      let state = nobodyAway();
      for (const { id, from, to, start, days, isEnd } of steps) {
        const [begins, ends] = [NOW + start * DAY, NOW + (start + days) * DAY];
        const one = asked({ id: uuid(id), from, to, start: iso(begins), end: iso(ends) });
        const next = isEnd ? endAway(state, { id: one.id, by: 'x' }, NOW) : addAway(state, one, NOW);
        if (!('state' in next)) continue;
        if (isEnd) ended.add(one.id);
        ({ state } = next);
      }
      for (const one of state.entries) {
        expect(ended.has(one.id)).toBe(false);
        expect(one.from.toLowerCase()).not.toBe(one.to);
        const others = state.entries.filter(
          (other) => other !== one && other.from.toLowerCase() === one.from.toLowerCase(),
        );
        expect(others.filter((other) => isOpenAt(other, Date.parse(one.start)))).toEqual([]);
      }
    }),
  );
});

it('never takes one again that was ended, however many others come and go', () => {
  const back = (state: AwayState, id: string): AwayState => {
    const ended = endAway(state, { id, by: 'x' }, NOW);
    if (!('state' in ended)) throw new Error(ended.message);
    return ended.state;
  };
  let state = back(after(asked()), uuid(1));
  for (let n = 2; n < 2 * LIMITS.awayEnded; n++) {
    const added = addAway(state, asked({ id: uuid(n), from: `p${n}` }), NOW);
    if ('state' in added) state = back(added.state, uuid(n));
  }
  expect(addAway(state, asked(), NOW)).not.toHaveProperty('entry');
  expect(readAway(JSON.parse(JSON.stringify(state)))).toEqual(state);
});
