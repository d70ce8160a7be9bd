import fc from 'fast-check';
import { createScale } from '../../../src/web/model/scale';

const DAY = 24 * 3600 * 1000;

it('shows a second of work beside two days of waiting', () => {
  const scale = createScale([0, 1_000, 2 * DAY, 2 * DAY + 500]);
  expect(scale.place(0)).toBe(0);
  expect(scale.place(1_000)).toBeGreaterThan(0.1);
  expect(scale.place(2 * DAY)).toBeLessThan(0.92);
  expect(scale.place(2 * DAY + 500)).toBe(1);
});

it.each([
  ['no moment', [], 5, 0],
  ['one moment', [7], 7, 0],
  ['before all', [7, 9], 1, 0],
  ['after all', [7, 9], 99, 1],
  ['halfway', [0, 100], 50, 0.5],
  ['what is no time', [Number.NaN, 0, 10], 10, 1],
])('%s', (_, moments, at, place) => {
  expect(createScale(moments).place(at)).toBe(place);
});

it('keeps the order of moments, whatever they are', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 90 * DAY }), { minLength: 2 }), (moments) => {
      const scale = createScale(moments);
      const places = [...moments].sort((a, b) => a - b).map(scale.place);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
    }),
  );
});

it('names the ends, and nothing too near to another name', () => {
  const ticks = createScale(Array.from({ length: 50 }, (_, n) => n * 1_000)).ticks();
  expect(ticks[0]).toEqual({ at: 0, iso: '1970-01-01T00:00:00.000Z' });
  expect(ticks.at(-1)).toEqual({ at: 1, iso: '1970-01-01T00:00:49.000Z' });
  for (const [index, tick] of ticks.entries()) {
    expect(index === 0 || tick.at - (ticks[index - 1]?.at ?? 0) >= 0.2).toBe(true);
  }
});
