import fc from 'fast-check';
import { mapOrdered, readTurns } from '../../src/client/read-turns';
import { CountersignError } from '../../src/contract/errors';
import type { TurnEvent } from '../../src/history/events';
import type { TurnSummary } from '../../src/client';
import { AT } from '../cli/support';

const summary = (turn: string): TurnSummary => ({
  turn,
  runId: 'r',
  agent: 'a',
  state: 'answered',
  pending: 0,
  prompt: '',
  startedAt: AT,
  endedAt: AT,
});
const ended = (turn: string): TurnEvent[] => [
  { type: 'cancel_requested', eventId: 1, at: AT, identity: turn },
];
const gone = new CountersignError('not_found', 'gone');

it('reads turns in order and leaves out those that are gone', async () => {
  const { found } = await readAll(new Map([['b', gone]]));
  expect(found).toEqual([ended('a'), ended('c')]);
});

it.each(['key_missing', 'payload_refused'] as const)(
  'leaves out a turn that fails with %s, and says so',
  async (code) => {
    const error = new CountersignError(code, 'no');
    expect(await readAll(new Map([['b', error]]))).toEqual({
      found: [ended('a'), ended('c')],
      unread: [error],
    });
  },
);

it('fails with any other failure of a turn', async () => {
  const error = new CountersignError('no_server', 'no');
  await expect(readAll(new Map([['b', error]]))).rejects.toBe(error);
});

/** Reads three turns; some of them fail. */
async function readAll(failures: ReadonlyMap<string, Error>) {
  const timeline = async (turn: string) => {
    const failure = failures.get(turn);
    if (failure !== undefined) throw failure;
    return ended(turn);
  };
  const [found, unread]: [TurnEvent[][], CountersignError[]] = [[], []];
  const turns = ['a', 'b', 'c'].map(summary);
  for await (const events of readTurns({ timeline }, turns, (error) => unread.push(error)))
    found.push(events);
  return { found, unread };
}

describe('mapOrdered', () => {
  const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
    const found: T[] = [];
    for await (const item of items) found.push(item);
    return found;
  };

  it('keeps the order, and never does more at a time than it may', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (scheduler, items, most) => {
          let running = 0;
          let peak = 0;
          const work = async (item: number): Promise<number> => {
            running += 1;
            peak = Math.max(peak, running);
            await scheduler.schedule(Promise.resolve());
            running -= 1;
            return item * 2;
          };
          const done = all(mapOrdered(items, most, work));
          await scheduler.waitFor(done);
          expect(await done).toEqual(items.map((item) => item * 2));
          expect(peak).toBeLessThanOrEqual(most);
        },
      ),
    );
  });

  it('fails in its turn, after what came before', async () => {
    const found: number[] = [];
    const work = async (item: number): Promise<number> => {
      if (item > 2) throw new Error(`no ${item}`);
      return item;
    };
    const reading = (async () => {
      for await (const item of mapOrdered([1, 2, 3, 4, 5], 3, work)) found.push(item);
    })();
    await expect(reading).rejects.toThrow('no 3');
    expect(found).toEqual([1, 2]);
  });
});
