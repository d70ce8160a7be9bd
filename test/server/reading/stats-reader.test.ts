import type { ListQuery, TurnSummary } from '../../../src/client';
import { EVERYTHING } from '../../../src/authority/rules/permits';
import { CountersignError } from '../../../src/contract/errors';
import type { TurnEvent } from '../../../src/history/events';
import type { StatsAnswer } from '../../../src/server/api';
import { StatsReader } from '../../../src/server/reading/stats-reader';
import { run, Script } from '../../history/script';

const NOW = Date.parse('2026-02-01T00:00:00.000Z');

beforeEach(() => jest.useFakeTimers({ now: NOW, doNotFake: ['setImmediate', 'nextTick'] }));
afterEach(() => jest.useRealTimers());

const summary = (turn: string): TurnSummary => ({
  ...{ turn, runId: 'r', agent: 'a', state: 'running', pending: 0, prompt: 'go' },
  ...{ startedAt: new Date(NOW).toISOString(), endedAt: null },
});

/** A web inbox of turns with one call each, that keeps what it was asked. */
const fakeClient = (turns: string[]) => {
  const script = new Script().started().task();
  script.think(1, [run('1.1')]);
  const events: TurnEvent[] = script.fold();
  const asked: ListQuery[] = [];
  const running = { now: 0, most: 0 };
  let failure: Error | undefined;
  const reader = new StatsReader({
    readerOf: () => ({
      namespace: 'default',
      list: async (query: ListQuery = {}) => {
        asked.push(query);
        running.most = Math.max(running.most, ++running.now);
        await new Promise((resolve) => setImmediate(resolve));
        if (failure !== undefined) throw failure;
        running.now--;
        return turns.slice(0, query.limit).map(summary);
      },
      timeline: (turn: string) =>
        turn === 'gone' || turn === 'sealed'
          ? Promise.reject(new CountersignError(turn === 'gone' ? 'not_found' : 'key_missing', turn))
          : Promise.resolve(events),
    }),
    refusals: {
      counts: ({ since }) => Promise.resolve(since === undefined ? { expired: 2 } : { expired: 1 }),
    },
  });
  return { reader, asked, running, fail: (error?: Error) => (failure = error) };
};

it('counts the newest turns, and the refusals of the same time', async () => {
  const { reader, asked } = fakeClient(['t-1', 't-2', 't-3']);
  const answer = await reader.read({ limit: 10, agent: 'a', sinceMs: 3_600_000 }, EVERYTHING);
  expect(asked).toEqual([{ limit: 10, agent: 'a', since: '2026-01-31T23:00:00.000Z' }]);
  expect(answer).toMatchObject({
    ...{ isCut: false, unread: 0, at: '2026-02-01T00:00:00.000Z', refusals: { expired: 1 } },
    stats: { turns: { count: 3 }, all: { calls: 3 } },
  });
});

it('says when there may be more than were counted', async () => {
  const answer = await fakeClient(['t-1', 't-2', 't-3']).reader.read({ limit: 2 }, EVERYTHING);
  expect(answer).toMatchObject({ isCut: true, stats: { turns: { count: 2 } }, refusals: { expired: 2 } });
});

it('counts a turn that cannot be decrypted as unread', async () => {
  const answer = await fakeClient(['t-1', 'sealed']).reader.read({ limit: 9 }, EVERYTHING);
  expect(answer).toMatchObject({ unread: 1, stats: { turns: { count: 1 } } });
});

it('leaves out a turn that is gone by now', async () => {
  expect((await fakeClient(['t-1', 'gone']).reader.read({ limit: 9 }, EVERYTHING)).stats.turns.count).toBe(1);
});

it('counts only the calls of a tool', async () => {
  const { reader } = fakeClient(['t-1']);
  expect((await reader.read({ limit: 9, tool: 'nothing' }, EVERYTHING)).stats).toMatchObject({
    ...{ turns: { count: 1 }, all: { calls: 0 } },
  });
});

it('reads once for all who ask the same, and again after half a minute', async () => {
  const { reader, asked } = fakeClient(['t-1']);
  const read = (): Promise<StatsAnswer> => reader.read({ limit: 5 }, EVERYTHING);
  await Promise.all([read(), read(), read()]);
  jest.advanceTimersByTime(29_000);
  await read();
  expect(asked).toHaveLength(1);
  jest.advanceTimersByTime(2_000);
  await read();
  expect(asked).toHaveLength(2);
});

it.each([-3_600_000, 3_600_000])(
  'keeps an answer half a minute where the time of day jumps by %d ms',
  async (jump) => {
    const { reader, asked } = fakeClient(['t-1']);
    await reader.read({ limit: 5 }, EVERYTHING);
    jest.setSystemTime(NOW + jump);
    jest.advanceTimersByTime(29_000);
    await reader.read({ limit: 5 }, EVERYTHING);
    expect(asked).toHaveLength(1);
    jest.advanceTimersByTime(2_000);
    await reader.read({ limit: 5 }, EVERYTHING);
    expect(asked).toHaveLength(2);
  },
);

it('reads one thing at a time', async () => {
  const { reader, asked, running } = fakeClient(['t-1']);
  await Promise.all(['a', 'b', 'c', 'd'].map((tool) => reader.read({ limit: 5, tool }, EVERYTHING)));
  expect(asked).toHaveLength(4);
  expect(running.most).toBe(1);
});

it('keeps no failure', async () => {
  const { reader, fail } = fakeClient(['t-1']);
  fail(new Error('away'));
  await expect(reader.read({ limit: 5 }, EVERYTHING)).rejects.toThrow('away');
  fail(undefined);
  await expect(reader.read({ limit: 5 }, EVERYTHING)).resolves.toMatchObject({
    stats: { turns: { count: 1 } },
  });
});

it('remembers only the last questions', async () => {
  const { reader, asked } = fakeClient([]);
  for (let limit = 1; limit <= 21; limit++) await reader.read({ limit }, EVERYTHING);
  await reader.read({ limit: 21 }, EVERYTHING);
  expect(asked).toHaveLength(21);
  await reader.read({ limit: 1 }, EVERYTHING);
  expect(asked).toHaveLength(22);
});

it('reads anew for people who see other agents, and shares it among those who see the same', async () => {
  const { reader, asked } = fakeClient(['t-1']);
  const some = { agents: ['a'] };
  await Promise.all([EVERYTHING, some, { agents: ['a'] }].map((permit) => reader.read({ limit: 5 }, permit)));
  expect(asked).toHaveLength(2);
});

it('lets few questions wait, however many are asked, and takes more once they are answered', async () => {
  const { reader, asked } = fakeClient(['t-1']);
  const read = (limit: number): Promise<StatsAnswer> => reader.read({ limit }, EVERYTHING);
  const ends = await Promise.allSettled(Array.from({ length: 100 }, (_, at) => read(at + 1)));
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
  expect(refused).toHaveLength(90);
  expect(refused[0]).toMatchObject({ code: 'too_many_attempts' });
  expect(asked).toHaveLength(10);
  expect(await read(100)).toMatchObject({ stats: { turns: { count: 1 } } });
});
