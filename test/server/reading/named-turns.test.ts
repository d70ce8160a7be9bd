import fc from 'fast-check';
import { NamedTurns } from '../../../src/server/reading/named-turns';
import '../../support/properties';

type Read = (turn: string) => Promise<boolean>;

/** Named turns, what was read of them, and how often one was lost. */
function named(read: Read = async () => true) {
  const reads: string[] = [];
  const seen = { lost: 0, atOnce: 0, most: 0 };
  const turns = new NamedTurns({
    read: async (turn) => {
      reads.push(turn);
      seen.most = Math.max(seen.most, ++seen.atOnce);
      try {
        return await read(turn);
      } finally {
        seen.atOnce -= 1;
      }
    },
    onLost: () => void seen.lost++,
  });
  return { turns, reads, seen };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const failing = (): Promise<never> => Promise.reject(new Error('gone'));

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it.each<[string, Read, boolean, { reads: number; lost: number }]>([
  ['a changed turn once', async () => true, false, { reads: 1, lost: 0 }],
  ['a turn without a change a few times', async () => false, false, { reads: 4, lost: 0 }],
  ['it once where that is enough', async () => false, true, { reads: 1, lost: 0 }],
  ['a turn that cannot be read a few times', failing, false, { reads: 4, lost: 1 }],
  ['it once where that is enough, and says that it failed', failing, true, { reads: 1, lost: 1 }],
])('reads %s', async (_, read, once, { reads, lost }) => {
  const { turns, reads: all, seen } = named(read);
  turns.add('t', once);
  await pass(60_000);
  expect(all).toHaveLength(reads);
  expect(seen.lost).toBe(lost);
});

it('reads a turn again that is named while it is read', async () => {
  let end: (isChanged: boolean) => void = () => undefined;
  const { turns, reads } = named(() => new Promise((resolve) => (end = resolve)));
  turns.add('t');
  await pass(1);
  turns.add('t');
  const endFirst = end;
  await pass(1);
  expect(reads).toHaveLength(2);
  endFirst(true);
  end(true);
  await pass(60_000);
  expect(reads).toHaveLength(2);
});

it('reads nothing more after it was cleared', async () => {
  const { turns, reads } = named(async () => false);
  turns.add('t');
  await pass(10);
  turns.clear();
  await pass(60_000);
  expect(reads).toHaveLength(1);
});

test('whoever names turns, however many: reads are bounded, and a name that is dropped is said', async () => {
  const act = fc.oneof(
    fc.record({ names: fc.array(fc.nat(2_000), { maxLength: 900 }), once: fc.boolean() }),
    fc.record({ ms: fc.integer({ min: 1, max: 3_000 }) }),
  );
  const answers = fc.constantFrom<Read>(async () => true, async () => false, failing);
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 10 }), answers, async (acts, read) => {
      const { turns, reads, seen } = named(read);
      let ms = 0;
      const wanted = new Set<string>();
      for (const one of acts) {
        if ('names' in one)
          for (const name of one.names) {
            turns.add(`t${name}`, one.once);
            wanted.add(`t${name}`);
          }
        else {
          await pass(one.ms);
          ms += one.ms;
        }
        expect(reads.length).toBeLessThanOrEqual(40 + (ms / 1_000) * 20 + 1);
      }
      expect(seen.most).toBeLessThanOrEqual(8);
      await pass(300_000);
      const isAllRead = [...wanted].every((turn) => reads.includes(turn));
      expect(isAllRead || seen.lost > 0).toBe(true);
      turns.clear();
    }),
    { numRuns: 40 },
  );
});
