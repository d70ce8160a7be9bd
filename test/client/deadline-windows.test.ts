import { earliestTurns } from '../../src/client/deadline-windows';
import type { Desk } from '../../src/client/desk';
import { NEVER } from '../../src/contract/names';

const END = Date.parse(NEVER);

/**
 * A desk over turns with these deadlines (ms from now), the newest last but listed first, as visibility does; counts the
 * questions. Ten thousand real turns are the bench's.
 */
function deskOf(offsets: number[]): {
  desk: Desk;
  asked: () => number;
  turns: { workflowId: string; at: number }[];
} {
  const now = Date.now();
  const turns = offsets.map((offset, index) => ({
    workflowId: `t${index}`,
    at: Math.min(END, now + offset),
  }));
  let questions = 0;
  const matching = (query: string) => {
    questions += 1;
    const bound = /CountersignDeadline < '([^']+)'/.exec(query)?.[1];
    return turns.filter((turn) => bound === undefined || turn.at < Date.parse(bound));
  };
  const list = async function* ({ query }: { query: string }) {
    for (const turn of matching(query).reverse()) {
      const searchAttributes = { CountersignAgent: ['a'], CountersignDeadline: [new Date(turn.at)] };
      yield { ...turn, searchAttributes, memo: {} };
    }
  };
  const count = async (query: string) => ({ count: matching(query).length });
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const workflow = { list, count };
  const desk = {
    client: { workflow },
    lister: { workflow },
    connection: { withDeadline },
  } as unknown as Desk;
  return { desk, asked: () => questions, turns };
}

const EVER = Infinity;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test('few turns are listed, no more', async () => {
  const { desk, asked } = deskOf([DAY, 2 * DAY]);
  expect(await earliestTurns(desk, 'q', 100)).toHaveLength(2);
  expect(asked()).toBe(1);
});

/** In no order of their own, or as old as the turns. The last column: how often it asks, two lists among it. */
test.each<[string, (n: number) => number, number]>([
  ['spread over a month', (n) => ((n * 7919) % 5000) * ((30 * DAY) / 5000), 4],
  ['all within a minute, a week away', (n) => 7 * DAY + ((n * 7919) % 5000) * 12, 4],
  ['overdue', (n) => -((n * 7919) % 5000) * 1000, 4],
  ['never, but for a few', (n) => (n % 50 === 0 ? n * 1000 : EVER), 3],
  ['that all started within five minutes', (n) => 7 * DAY - 300_000 + n * 60, 8],
  ['that started all week', (n) => (n * 7 * DAY) / 5000, 8],
  ['of five bursts, a day apart', (n) => Math.floor(n / 1000) * DAY + (n % 1000) * 20, 26],
  ['of two tools', (n) => n * 60 + (n % 3 === 0 ? DAY : 7 * DAY), 8],
  ['never, if they are new', (n) => (n < 250 ? n * 60_000 : EVER), 8],
])('of many %s it finds the earliest', async (_, offset, most) => {
  const offsets = Array.from({ length: 5000 }, (_unused, n) => offset(n));
  const { desk, asked } = deskOf(offsets);
  const found = new Set((await earliestTurns(desk, 'q', 100)).map((turn) => turn.id));
  const earliest = offsets.map((at, n) => [at, `t${n}`] as const).sort(([a], [b]) => a - b);
  expect(earliest.slice(0, 100).every(([, id]) => found.has(id))).toBe(true);
  expect(found.size).toBeLessThanOrEqual(300);
  expect(asked()).toBeLessThanOrEqual(most);
});

test('who looks again lists what the last look found, by one question', async () => {
  const offsets = Array.from({ length: 5000 }, (_, n) => 7 * DAY + n * 12);
  const { desk, asked } = deskOf(offsets);
  const first = await earliestTurns(desk, 'q', 100);
  const before = asked();
  expect(await earliestTurns(desk, 'q', 100)).toEqual(first);
  expect(asked() - before).toBe(1);
  await earliestTurns(desk, 'another', 100);
  expect(asked() - before).toBeGreaterThan(3);
});

test.each<[string, (turns: { workflowId: string; at: number }[]) => void]>([
  ['most of the page was decided', (turns) => turns.splice(0, 150)],
  [
    'many more urgent ones came',
    (turns) => {
      for (let n = 0; n < 400; n++) turns.push({ workflowId: `new${n}`, at: Date.now() + n });
    },
  ],
])('where %s it looks anew', async (_, change) => {
  const { desk, turns } = deskOf(Array.from({ length: 5000 }, (_unused, n) => 7 * DAY + n * 12));
  await earliestTurns(desk, 'q', 100);
  change(turns);
  const found = new Set((await earliestTurns(desk, 'q', 100)).map((turn) => turn.id));
  const earliest = turns.toSorted((a, b) => a.at - b.at).slice(0, 100);
  expect(earliest.every(({ workflowId }) => found.has(workflowId))).toBe(true);
  expect(found.size).toBeLessThanOrEqual(300);
});

test.each([
  ['one and the same deadline', DAY],
  ['no deadline', EVER],
])('of many with %s any will do', async (_, offset) => {
  const { desk, asked } = deskOf(Array.from({ length: 1000 }, () => offset));
  expect((await earliestTurns(desk, 'q', 10)).length).toBeGreaterThanOrEqual(10);
  expect(asked()).toBeLessThanOrEqual(6);
});
