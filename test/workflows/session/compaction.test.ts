import fc from 'fast-check';
import { LIMITS } from '../../../src/contract/limits';
import {
  compactionLimit,
  shrunkSize,
  turnsToLeaveOut,
  turnsToSummarize,
} from '../../../src/workflows/session/compaction';
import '../../support/properties';

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

it('the limit is that of the agent, and at most what a session may keep', () => {
  expect(compactionLimit(64_000)).toBe(64_000);
  expect(4 * compactionLimit(1e9)).toBeLessThan(LIMITS.sessionMemoryBytes);
});

it.each<[string, number[], number]>([
  ['the newest stay, as many as take 40 %', [300, 300, 100, 200, 200], 3],
  ['one that just fits stays', [500, 400], 1],
  ['the last one stays, however long', [500, 2000], 1],
  ['nothing of one turn', [2000], 0],
  ['nothing where it would gain less than 10 %', [99, 400], 0],
  ['what gains 10 %', [100, 400], 1],
  ['nothing of nothing', [], 0],
])('a summary at a limit of 1,000 replaces the oldest turns: %s', (_case, sizes, count) => {
  expect(turnsToSummarize(sizes, 1000)).toBe(count);
});

it.each<[string, number[], number, number]>([
  ['none where nothing is over', [10, 10], 0, 0],
  ['as many as needed', [10, 10, 10], 11, 2],
  ['no more than needed', [10, 10, 10], 10, 1],
  ['all but the last', [10, 10], 1000, 1],
  ['never the only one', [10], 1000, 0],
  ['none of none', [], 1000, 0],
])('without a summary turns are left out: %s', (_case, sizes, excess, count) => {
  expect(turnsToLeaveOut(sizes, excess)).toBe(count);
});

it('keeps the last turn, whatever the sizes', () => {
  const sizes = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 50_000 }), (some, limit) => {
      const [out, dropped] = [turnsToSummarize(some, limit), turnsToLeaveOut(some, sum(some) - limit)];
      expect(Math.max(out, dropped)).toBeLessThan(some.length);
      if (out > 0 && some.length - out > 1) expect(sum(some.slice(out))).toBeLessThanOrEqual(0.4 * limit);
    }),
  );
});

it('a memory shrinks well below its limit', () => {
  expect(shrunkSize(1000)).toBe(700);
});
