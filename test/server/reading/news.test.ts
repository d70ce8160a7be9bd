import fc from 'fast-check';
import { CountersignError } from '../../../src/contract/errors';
import { NamedTurns, Pace, type PastRead } from '../../../src/server/reading/news';
import '../../support/properties';

const TIMES = { usual: 500, told: 5_000, toldOfMany: 1_000 };
const MINUTE = 60_000;

/** A pace, its clock, and what workers say. */
function paceAt() {
  const clock = { now: 1_000_000 };
  const pace = new Pace(TIMES, () => clock.now);
  const hear = (...turns: string[]): void => pace.hear({ namespace: 'default', turns });
  const pass = (ms: number): void => void (clock.now += ms);
  return { pace, hear, pass };
}

describe('whether workers tell of requests', () => {
  type Setting = ReturnType<typeof paceAt>;
  it.each<[string, (setting: Setting) => void, boolean]>([
    ['no worker spoke', () => undefined, false],
    ['a worker is there', ({ hear }) => hear(), true],
    ['it missed one beat', ({ hear, pass }) => (hear(), pass(12_000)), true],
    ['it is silent', ({ hear, pass }) => (hear(), pass(12_500)), false],
    [
      'its news was not complete',
      ({ pace }) => pace.hear({ namespace: 'd', turns: [], isPart: true }),
      false,
    ],
    ['news could not be followed', ({ pace, hear }) => (hear(), pace.doubt()), false],
    ['that is long ago', ({ pace, hear, pass }) => (hear(), pace.doubt(), pass(15_000), hear()), true],
    [
      'visibility showed what it had named',
      ({ pace, hear, pass }) => (hear('a'), pace.found(['a']), pass(3_000), pace.found([])),
      true,
    ],
    [
      'the news came soon after visibility',
      ({ pace, hear, pass }) => (
        hear(),
        pace.found(['a']),
        pass(1_000),
        hear('a'),
        pass(3_000),
        pace.found([])
      ),
      true,
    ],
    [
      'visibility showed what nobody named',
      ({ pace, hear, pass }) => (hear(), pace.found(['a']), pass(3_000), pace.found([])),
      false,
    ],
    [
      'that is minutes ago',
      ({ pace, hear, pass }) => (
        hear(),
        pace.found(['a']),
        pass(3_000),
        pace.found([]),
        pass(5 * MINUTE),
        hear()
      ),
      true,
    ],
  ])('%s', (_, happen, isTold) => {
    const setting = paceAt();
    happen(setting);
    expect(setting.pace.isTold).toBe(isTold);
  });
});

describe('the rest after a read', () => {
  const busy = new CountersignError('server_busy', 'too often', { data: { retryInMs: 7_000 } });
  it.each<[string, boolean, PastRead, number]>([
    ['is short where nobody tells of requests', false, { tookMs: 5 }, 500],
    ['is long where workers do', true, { tookMs: 5 }, 5_000],
    ['is shorter where one read shows only a part', true, { tookMs: 5, isLong: true }, 1_000],
    ['does not come where there is more to read at first', true, { tookMs: 5, isPart: true }, 0],
    ['is as long as a slow read', false, { tookMs: 4_000 }, 4_000],
    ['is what the server wants', true, { tookMs: 5, error: busy }, 7_000],
    ['is longer than usual after a failure', true, { tookMs: 9_000, error: new Error('gone') }, 2_000],
  ])('%s', (_, isTold, read, ms) => {
    const { pace, hear, pass } = paceAt();
    if (isTold) hear();
    expect(pace.dueInMs()).toBe(0);
    pace.end(read);
    const rest = pace.dueInMs();
    expect(rest).toBeGreaterThanOrEqual(ms);
    expect(rest).toBeLessThanOrEqual(ms * 1.1);
    expect(pace.dueInMs()).toBe(rest);
    pass(rest);
    expect(pace.dueInMs()).toBe(0);
    pace.end(read);
    pace.hurry();
    expect(pace.dueInMs()).toBe(0);
  });
});

it('remembers a bounded number of turns', () => {
  const { pace, hear, pass } = paceAt();
  const names = Array.from({ length: 6_000 }, (_, n) => `t${n}`);
  hear(...names);
  pace.found(['t5999']);
  pass(3_000);
  pace.found([]);
  expect(pace.isTold).toBe(true);
  pace.found(['t0']);
  pass(3_000);
  pace.found([]);
  expect(pace.isTold).toBe(false);
});

describe('turns that are named', () => {
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
});
