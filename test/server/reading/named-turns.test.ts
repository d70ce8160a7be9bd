import fc from 'fast-check';
import { NamedTurns } from '../../../src/server/reading/named-turns';
import { runs } from '../../support/properties';

describe('turns that are named', () => {
  type Read = (turn: string) => Promise<boolean>;

  /** Turns, what was read of them, which of them were lost, and how often they were late. */
  function named(read: Read = async () => true) {
    const reads: string[] = [];
    const seen = { lost: [] as string[], late: 0, atOnce: 0, most: 0 };
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
      onLost: (turn) => void seen.lost.push(turn),
      onLate: () => void seen.late++,
    });
    return { turns, reads, seen };
  }

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const failing = (): Promise<never> => Promise.reject(new Error('gone'));

  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const add = (turns: NamedTurns, many: number, name = 't'): void => {
    for (let n = 0; n < many; n++) turns.add(`${name}${n}`);
  };

  it.each<[string, Read, 'add' | 'doubt', { reads: number; lost: number }]>([
    ['a changed turn once', async () => true, 'add', { reads: 1, lost: 0 }],
    ['a turn without a change a few times', async () => false, 'add', { reads: 4, lost: 0 }],
    ['a doubted turn once', async () => false, 'doubt', { reads: 1, lost: 0 }],
    ['a turn that cannot be read a few times', failing, 'add', { reads: 4, lost: 1 }],
    ['it once, and says that it failed', failing, 'doubt', { reads: 1, lost: 1 }],
  ])('reads %s', async (_, read, how, { reads, lost }) => {
    const { turns, reads: all, seen } = named(read);
    turns[how]('t');
    await pass(60_000);
    expect(all).toHaveLength(reads);
    expect(seen.lost).toEqual(Array.from({ length: lost }, () => 't'));
  });

  it('reads a turn again that is named while it is read, once that read has ended', async () => {
    let end: (isChanged: boolean) => void = () => undefined;
    const { turns, reads } = named(() => new Promise((resolve) => (end = resolve)));
    turns.add('t');
    await pass(1);
    turns.add('t');
    turns.doubt('t');
    await pass(60_000);
    expect(reads).toHaveLength(1);
    end(true);
    await pass(1);
    expect(reads).toHaveLength(2);
    end(true);
    await pass(60_000);
    expect(reads).toHaveLength(2);
  });

  it('reads a doubted turn at once, however many are named', async () => {
    const { turns, reads, seen } = named();
    add(turns, 500);
    await pass(3_000);
    turns.doubt('d');
    await pass(150);
    expect(reads).toContain('d');
    expect(seen.lost).toEqual([]);
  });

  it('reads a named turn soon, however many are doubted', async () => {
    const { turns, reads } = named();
    for (let n = 0; n < 500; n++) turns.doubt(`d${n}`);
    await pass(1_000);
    turns.add('t');
    await pass(150);
    expect(reads).toContain('t');
  });

  it('reads a named turn soon, though a few others are named again and again', async () => {
    const { turns, reads } = named(async () => false);
    add(turns, 30, 'hot');
    const again = setInterval(() => add(turns, 30, 'hot'), 100);
    await pass(3_000);
    turns.add('t');
    await pass(3_000);
    clearInterval(again);
    expect(reads).toContain('t');
  });

  it('does not put off a turn that is named again and again while others come', async () => {
    const { turns, reads } = named();
    add(turns, 60);
    for (let n = 0; n < 60; n++) {
      turns.add(`other${n}`);
      turns.add('t');
      await pass(50);
    }
    expect(reads).toContain('t');
  });

  it('gives up a doubted turn that waits for too long, and says which', async () => {
    const { turns, reads, seen } = named();
    add(turns, 500);
    for (let n = 0; n < 400; n++) turns.doubt(`d${n}`);
    await pass(4_000);
    const doubted = Array.from({ length: 400 }, (_, n) => `d${n}`);
    expect(doubted.filter((turn) => !reads.includes(turn))).toEqual(seen.lost);
    expect(seen.lost).toContain('d399');
  });

  it('says that named turns are late, before one of them is dropped', async () => {
    const { turns, seen } = named();
    add(turns, 59);
    await pass(10_000);
    expect(seen.late).toBe(0);
    add(turns, 100);
    await pass(10_000);
    expect(seen.late).toBeGreaterThan(0);
    expect(seen.lost).toEqual([]);
  });

  it('says which turn it does not take', async () => {
    const { turns, seen } = named();
    add(turns, 500);
    turns.add('one more');
    turns.add('t499');
    for (let n = 0; n < 501; n++) turns.doubt(`d${n}`);
    expect(seen.lost).toEqual(['one more', 'd500']);
    turns.clear();
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
      fc.record({ names: fc.array(fc.nat(2_000), { maxLength: 900 }), isDoubted: fc.boolean() }),
      fc.record({ ms: fc.integer({ min: 1, max: 3_000 }) }),
    );
    const answers = fc.constantFrom<Read>(
      async () => true,
      async () => false,
      failing,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 10 }), answers, async (acts, read) => {
        const { turns, reads, seen } = named(read);
        let ms = 0;
        const wanted = new Set<string>();
        for (const one of acts) {
          if ('names' in one)
            for (const name of one.names) {
              one.isDoubted ? turns.doubt(`t${name}`) : turns.add(`t${name}`);
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
        const told = new Set([...reads, ...seen.lost]);
        expect([...wanted].filter((turn) => !told.has(turn))).toEqual([]);
        turns.clear();
      }),
      { numRuns: runs(40) },
    );
  });
});
