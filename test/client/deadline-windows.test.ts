import { earliestTurns } from '../../src/client/deadline-windows';
import type { Desk } from '../../src/client/desk';

/** A desk over turns with these deadlines (ms from now); counts the questions. Ten thousand real turns are the bench's. */
function deskOf(offsets: number[]): { desk: Desk; asked: () => number } {
  const now = Date.now();
  const turns = offsets.map((offset, index) => ({ workflowId: `t${index}`, at: now + offset }));
  let questions = 0;
  const matching = (query: string) => {
    questions += 1;
    const bound = /CountersignDeadline < '([^']+)'/.exec(query)?.[1];
    return turns.filter((turn) => bound === undefined || turn.at < Date.parse(bound));
  };
  const list = async function* ({ query }: { query: string }) {
    for (const turn of matching(query))
      yield { ...turn, searchAttributes: { CountersignAgent: ['a'] }, memo: {} };
  };
  const count = async (query: string) => ({ count: matching(query).length });
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const workflow = { list, count };
  const desk = {
    client: { workflow },
    lister: { workflow },
    connection: { withDeadline },
  } as unknown as Desk;
  return { desk, asked: () => questions };
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test('few turns are counted and listed, no more', async () => {
  const { desk, asked } = deskOf([DAY, 2 * DAY]);
  expect(await earliestTurns(desk, 'q', 100)).toHaveLength(2);
  expect(asked()).toBe(2);
});

test.each([
  ['spread over a month', (n: number) => ((n * 7919) % 5000) * ((30 * DAY) / 5000)],
  ['all within a minute, a week away', (n: number) => 7 * DAY + ((n * 7919) % 5000) * 12],
  ['overdue', (n: number) => -((n * 7919) % 5000) * 1000],
  [
    'never, but for a few',
    (n: number) => (n % 50 === 0 ? n * 1000 : Date.parse('9999-12-31T00:00:00Z') - Date.now()),
  ],
])('of many %s it finds the earliest', async (_, offset) => {
  const offsets = Array.from({ length: 5000 }, (_unused, n) => offset(n));
  const { desk, asked } = deskOf(offsets);
  const found = new Set((await earliestTurns(desk, 'q', 100)).map((turn) => turn.id));
  const earliest = offsets.map((at, n) => [at, `t${n}`] as const).sort(([a], [b]) => a - b);
  expect(earliest.slice(0, 100).every(([, id]) => found.has(id))).toBe(true);
  expect(found.size).toBeLessThanOrEqual(300);
  expect(asked()).toBeLessThan(80);
});

test('who looks again counts once and lists, until a page was decided', async () => {
  const offsets = Array.from({ length: 5000 }, (_, n) => 7 * DAY + n * 12);
  const { desk, asked } = deskOf(offsets);
  const first = await earliestTurns(desk, 'q', 100);
  const before = asked();
  expect(await earliestTurns(desk, 'q', 100)).toEqual(first);
  expect(asked() - before).toBe(2);
  await earliestTurns(desk, 'another', 100);
  expect(asked() - before).toBeGreaterThan(10);
});

test('of many with one and the same deadline any will do', async () => {
  const { desk } = deskOf(Array.from({ length: 1000 }, () => DAY));
  expect((await earliestTurns(desk, 'q', 10)).length).toBeGreaterThanOrEqual(10);
});
