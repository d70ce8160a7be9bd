import fc from 'fast-check';
import type { InboxItem } from '../../../src/client';
import type { ClientContext } from '../../../src/client/context';
import { earliestTurns, findBound, mostUrgentFirst, newestFirst } from '../../../src/client/inbox/order';
import { NEVER } from '../../../src/contract/names';
import { inboxItem } from '../../cli/support';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const ask = (turn: string, since: number, deadline: number | null): InboxItem =>
  inboxItem({ turn, since: at(since), deadline: deadline === null ? null : at(deadline) });
const doubt = (turn: string, since: number): InboxItem =>
  inboxItem({ turn, kind: 'in_doubt', since: at(since), deadline: null });

const items = [
  ...[ask('never-new', 5, null), ask('late', 4, 90), doubt('doubt-new', 3)],
  ...[ask('never-old', 2, null), ask('soon', 1, 60), doubt('doubt-old', 0)],
];
const turnsOf = (ordered: readonly InboxItem[]): string[] => ordered.map(({ turn }) => turn);

it.each([
  [
    'the earliest deadline',
    mostUrgentFirst,
    ['doubt-old', 'doubt-new', 'soon', 'late', 'never-old', 'never-new'],
  ],
  ['the newest', newestFirst, ['doubt-new', 'doubt-old', 'never-new', 'late', 'never-old', 'soon']],
])('calls in doubt come first, then %s', (_case, order, expected) => {
  expect(turnsOf(order(items))).toEqual(expected);
  expect(turnsOf(order(items.toReversed()))).toEqual(expected);
});

it('orders equal moments by turn and call, so that a list stays as it is', () => {
  const some = [ask('b', 1, 9), ask('a', 1, 9)];
  expect(turnsOf(mostUrgentFirst(some))).toEqual(['a', 'b']);
});

it('leaves the list that it is given as it is', () => {
  const before = turnsOf(items);
  for (const order of [mostUrgentFirst, newestFirst]) order(items);
  expect(turnsOf(items)).toEqual(before);
});

const END = Date.parse(NEVER);

/**
 * A web inbox over turns with these deadlines (ms from now), the newest last but listed first, as visibility does; counts the
 * questions. Ten thousand real turns are the fixture's.
 */
function contextOf(offsets: number[]): {
  context: ClientContext;
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
  // An answer of visibility holds one page; each further page is another question.
  const list = async function* ({ query, pageSize }: { query: string; pageSize: number }) {
    for (const [index, turn] of matching(query).reverse().entries()) {
      if (index > 0 && index % pageSize === 0) questions += 1;
      const searchAttributes = { CountersignAgent: ['a'], CountersignDeadline: [new Date(turn.at)] };
      yield { ...turn, searchAttributes, startTime: new Date(now), memo: {} };
    }
  };
  const count = async (query: string) => ({ count: matching(query).length });
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const workflow = { list, count };
  const context = {
    client: { workflow },
    lister: { workflow },
    connection: { withDeadline },
  } as unknown as ClientContext;
  return { context, asked: () => questions, turns };
}

const EVER = Infinity;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test('few turns are listed, no more', async () => {
  const { context, asked } = contextOf([DAY, 2 * DAY]);
  expect(await earliestTurns(context, 'q', 100)).toHaveLength(2);
  expect(asked()).toBe(1);
});

/** In no order of their own, or as old as the turns. The last column: how often it asks, each page of its two lists too. */
test.each<[string, (n: number) => number, number]>([
  ['spread over a month', (n) => ((n * 7919) % 5000) * ((30 * DAY) / 5000), 5],
  ['all within a minute, a week away', (n) => 7 * DAY + ((n * 7919) % 5000) * 12, 5],
  ['overdue', (n) => -((n * 7919) % 5000) * 1000, 4],
  ['never, but for a few', (n) => (n % 50 === 0 ? n * 1000 : EVER), 3],
  ['that all started within five minutes', (n) => 7 * DAY - 300_000 + n * 60, 8],
  ['that started all week', (n) => (n * 7 * DAY) / 5000, 8],
  ['of five bursts, a day apart', (n) => Math.floor(n / 1000) * DAY + (n % 1000) * 20, 26],
  ['of two tools', (n) => n * 60 + (n % 3 === 0 ? DAY : 7 * DAY), 8],
  ['never, if they are new', (n) => (n < 250 ? n * 60_000 : EVER), 8],
])('of many %s it finds the earliest', async (_, offset, most) => {
  const offsets = Array.from({ length: 5000 }, (_unused, n) => offset(n));
  const { context, asked } = contextOf(offsets);
  const found = new Set((await earliestTurns(context, 'q', 100)).map((turn) => turn.id));
  const earliest = offsets.map((at, n) => [at, `t${n}`] as const).sort(([a], [b]) => a - b);
  expect(earliest.slice(0, 100).every(([, id]) => found.has(id))).toBe(true);
  expect(found.size).toBeLessThanOrEqual(300);
  expect(asked()).toBeLessThanOrEqual(most);
  const before = asked();
  const again = new Set((await earliestTurns(context, 'q', 100)).map((turn) => turn.id));
  expect(earliest.slice(0, 100).every(([, id]) => again.has(id))).toBe(true);
  expect(asked() - before).toBe(1);
});

test('who looks for something else looks anew', async () => {
  const { context, asked } = contextOf(Array.from({ length: 5000 }, (_, n) => 7 * DAY + n * 12));
  await earliestTurns(context, 'q', 100);
  const before = asked();
  await earliestTurns(context, 'another', 100);
  expect(asked() - before).toBeGreaterThan(3);
});

test('whose filter names another moment each time looks again by one question', async () => {
  const { context, asked } = contextOf(Array.from({ length: 5000 }, (_, n) => 7 * DAY + n * 12));
  await earliestTurns(context, "StartTime < '1'", 100, 'an hour old');
  const before = asked();
  const found = await earliestTurns(context, "StartTime < '2'", 100, 'an hour old');
  expect(found.length).toBeGreaterThanOrEqual(100);
  expect(asked() - before).toBe(1);
});

test.each<[string, (turns: { workflowId: string; at: number }[]) => void]>([
  ['most of the page was decided', (turns) => turns.splice(0, 100)],
  [
    'many more urgent ones came',
    (turns) => {
      for (let n = 0; n < 400; n++) turns.push({ workflowId: `new${n}`, at: Date.now() + n });
    },
  ],
])('where %s it looks anew', async (_, change) => {
  const { context, turns } = contextOf(Array.from({ length: 5000 }, (_unused, n) => 7 * DAY + n * 12));
  await earliestTurns(context, 'q', 100);
  change(turns);
  const found = new Set((await earliestTurns(context, 'q', 100)).map((turn) => turn.id));
  const earliest = turns.toSorted((a, b) => a.at - b.at).slice(0, 100);
  expect(earliest.every(({ workflowId }) => found.has(workflowId))).toBe(true);
  expect(found.size).toBeLessThanOrEqual(300);
});

test.each([
  ['one and the same deadline', DAY],
  ['no deadline', EVER],
])('of many with %s any will do', async (_, offset) => {
  const { context, asked } = contextOf(Array.from({ length: 1000 }, () => offset));
  expect((await earliestTurns(context, 'q', 10)).length).toBeGreaterThanOrEqual(10);
  expect(asked()).toBeLessThanOrEqual(6);
});

describe('findBound', () => {
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
});
