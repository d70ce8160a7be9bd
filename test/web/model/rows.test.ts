import fc from 'fast-check';
import { rowWindow, scrollFor } from '../../../src/web/model/rows';

const place = (extra: object = {}) => ({ count: 3_000, rowHeight: 80, scrollTop: 0, height: 800, ...extra });

it.each([
  ['the top', {}, { from: 0, to: 18 }],
  ['the middle', { scrollTop: 80_000 }, { from: 992, to: 1_018 }],
  ['the end', { scrollTop: 3_000 * 80 - 800 }, { from: 2_982, to: 3_000 }],
  ['beyond the end, after rows have left', { count: 5, scrollTop: 80_000 }, { from: 4, to: 5 }],
  ['before the top, where a finger pulls', { scrollTop: -300 }, { from: 0, to: 18 }],
  ['an empty list', { count: 0 }, { from: 0, to: 0 }],
])('at %s', (_, extra, drawn) => {
  expect(rowWindow(place(extra))).toMatchObject(drawn);
});

it('draws every row in sight, few others, and keeps the height of all', () => {
  const nat = (max: number) => fc.integer({ min: 0, max });
  fc.assert(
    fc.property(
      nat(20_000),
      nat(2_000_000),
      fc.integer({ min: 1, max: 3_000 }),
      (count, scrollTop, height) => {
        const { from, to, before, after } = rowWindow({ count, rowHeight: 80, scrollTop, height });
        expect(before + (to - from) * 80 + after).toBe(count * 80);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(height / 80) + 18);
        const firstInSight = Math.floor(scrollTop / 80);
        const lastInSight = Math.min(count, Math.ceil((scrollTop + height) / 80)) - 1;
        if (firstInSight < count) expect(from).toBeLessThanOrEqual(firstInSight);
        if (lastInSight >= firstInSight) expect(to).toBeGreaterThan(lastInSight);
      },
    ),
  );
});

it.each([
  ['in sight', 3, {}, undefined],
  ['above', 3, { scrollTop: 400 }, 240],
  ['half above', 5, { scrollTop: 420 }, 400],
  ['below', 12, {}, 240],
])('scrolls to a row that is %s', (_, index, extra, to) => {
  expect(scrollFor(index, place(extra))).toBe(to);
});
