import fc from 'fast-check';
import { spreadOf } from '../../../src/history/stats/spread';

it.each([
  [[], { count: 0, mean: null, p50: null, p95: null, max: null }],
  [[7], { count: 1, mean: 7, p50: 7, p95: 7, max: 7 }],
  [[3, 1, 2], { count: 3, mean: 2, p50: 2, p95: 3, max: 3 }],
  [Array.from({ length: 100 }, (_, at) => 100 - at), { count: 100, mean: 50.5, p50: 50, p95: 95, max: 100 }],
])('of %j is right', (numbers, spread) => {
  expect(spreadOf(numbers)).toEqual(spread);
});

it('has so many numbers at or below each percentile, and is one of the numbers', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1 }), (numbers) => {
      const { p50, p95, max } = spreadOf(numbers);
      for (const [share, value] of [
        [0.5, p50],
        [0.95, p95],
        [1, max],
      ] as const) {
        expect(numbers).toContain(value);
        expect(numbers.filter((one) => one <= (value ?? NaN)).length).toBeGreaterThanOrEqual(
          share * numbers.length,
        );
      }
    }),
  );
});
