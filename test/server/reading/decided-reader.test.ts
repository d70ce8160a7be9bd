import { EVERYTHING } from '../../../src/authority/rules/permits';
import { DecidedReader } from '../../../src/server/reading/decided-reader';

afterEach(() => jest.useRealTimers());

it('asks once for a user who asks again at once, anew after a decision, and again after a failure', async () => {
  const looks: string[] = [];
  let fails = false;
  const client = {
    list: async () => {
      looks.push('list');
      if (fails) throw new Error('gone');
      return [];
    },
    timeline: async (turn: string) => {
      looks.push(turn);
      return [];
    },
  };
  const reader = new DecidedReader(() => client);
  await Promise.all([reader.read('ann', EVERYTHING), reader.read('ann', EVERYTHING)]);
  expect(looks).toEqual(['list']);
  reader.note('ann', 't-1');
  expect(await reader.read('ann', EVERYTHING)).toMatchObject({ looked: 1 });
  expect(looks).toEqual(['list', 'list', 't-1']);
  expect(await reader.read('bob', EVERYTHING)).toMatchObject({ looked: 0 });
  fails = true;
  await expect(reader.read('cyd', EVERYTHING)).rejects.toThrow('gone');
  fails = false;
  expect(await reader.read('cyd', EVERYTHING)).toMatchObject({ calls: [] });
});

it('shares a read that takes long, and keeps its answer for three seconds', async () => {
  jest.useFakeTimers();
  let lists = 0;
  let list = (_: never[]): void => undefined;
  const listed = new Promise<never[]>((resolve) => (list = resolve));
  const client = { list: () => (++lists, listed), timeline: async () => [] };
  const reader = new DecidedReader(() => client);
  const first = reader.read('ann', EVERYTHING);
  jest.advanceTimersByTime(60_000);
  const second = reader.read('ann', EVERYTHING);
  list([]);
  await Promise.all([first, second, reader.read('ann', EVERYTHING)]);
  expect(lists).toBe(1);
  jest.advanceTimersByTime(3_001);
  await reader.read('ann', EVERYTHING);
  expect(lists).toBe(2);
});

it('reads anew once a user sees other agents', async () => {
  const seen: unknown[] = [];
  const reader = new DecidedReader(({ agents }) => ({
    list: async () => (seen.push(agents), []),
    timeline: async () => [],
  }));
  await reader.read('ann', EVERYTHING);
  await reader.read('ann', { agents: ['a'] });
  await reader.read('ann', { agents: ['a'] });
  expect(seen).toEqual(['all', ['a']]);
});
