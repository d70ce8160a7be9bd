import fc from 'fast-check';
import { findBound } from '../../src/client/deadline-bound';
import { NEVER } from '../../src/contract/names';

const END = Date.parse(NEVER);
const DAY = 24 * 3_600_000;

/** Anywhere, close together, or never. */
const deadlines = fc
  .array(
    fc.oneof(
      fc.integer({ min: 1, max: END }),
      fc.integer({ min: -7 * DAY, max: 7 * DAY }).map((offset) => Date.now() + offset),
      fc.integer({ min: 0, max: 40 }).map((offset) => Date.UTC(2031, 0, 1) + offset),
      fc.constant(END),
    ),
    { minLength: 1, maxLength: 200 },
  )
  .map((found) => found.sort((a, b) => a - b));

const counting = (all: readonly number[]) => {
  const below = (at: number): number => all.filter((deadline) => deadline < at).length;
  const asked: number[] = [];
  const count = async (at: number): Promise<number> => {
    asked.push(at);
    return below(at);
  };
  return { asked, below, count };
};

it('has enough before it and not many more, whatever the deadlines and the sample of them', async () => {
  await fc.assert(
    fc.asyncProperty(
      deadlines,
      fc.integer({ min: 1, max: 30 }),
      fc.func(fc.boolean()),
      async (all, least, isSampled) => {
        const { asked, below, count } = counting(all);
        const most = least * 3;
        const bound = await findBound({ least, most, count, sample: all.filter((at) => isSampled(at)) });
        if (below(END) < least) return expect(bound).toBeGreaterThan(END);
        expect(below(bound)).toBeGreaterThanOrEqual(least);
        // More have to share the last millisecond.
        if (below(bound) > most) expect(below(bound - 1)).toBeLessThan(least);
        expect(asked.length).toBeLessThanOrEqual(61);
        expect(asked.every((at) => at > 0 && at <= END)).toBe(true);
      },
    ),
  );
});

it.each([
  ['of all', (n: number) => n % 100 === 0],
  ['of the latest', (n: number) => n >= 9_900],
  ['of the earliest', (n: number) => n < 100],
])(
  'asks seven times at most about a burst of ten thousand a week away, by a sample %s',
  async (_, isSampled) => {
    const all = Array.from({ length: 10_000 }, (_unused, n) => Date.now() + 7 * DAY + n * 60);
    const { asked, below, count } = counting(all);
    const sample = all.filter((_at, n) => isSampled(n));
    const bound = await findBound({ least: 100, most: 300, count, sample });
    expect(below(bound)).toBeGreaterThanOrEqual(100);
    expect(below(bound)).toBeLessThanOrEqual(300);
    expect(asked.length).toBeLessThanOrEqual(7);
  },
);
