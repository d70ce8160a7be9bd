import { toMilliseconds } from '../../src/tools/option-values';

it.each([
  [1, 1],
  [1.6, 2],
  ['30s', 30_000],
  ['2 minutes', 120_000],
  ['1.5h', 5_400_000],
  ['7 days', 604_800_000],
  ['250', 250],
])('%p is %i ms', (duration, ms) => {
  expect(toMilliseconds(duration)).toBe(ms);
});

it.each([
  ['', /'' is not a time/],
  ['soon', /'soon' is not a time/],
  ['1 fortnight', /is not a time/],
  ['9'.repeat(200), /is not a time/],
  [Number.NaN, /NaN is not a time/],
  [Number.POSITIVE_INFINITY, /Infinity is not a time/],
  [0, /0 is too short; the least is 1 ms/],
  ['-5s', /'-5s' is too short/],
  ['11y', /'11y' is too long; the most is ten years/],
])('%p is refused', (duration, message) => {
  expect(() => toMilliseconds(duration)).toThrow(message);
});

it('holds a least of its own', () => {
  expect(() => toMilliseconds('500ms', 1000)).toThrow(/the least is 1000 ms/);
});
