import { provenBy } from '../../src/tools/errors';
import { Pool } from '../../src/tools/pool';
import { until } from '../support/until';

interface One {
  number: number;
  isAlive: boolean;
}

/** A pool of numbers, and those that it has closed. */
const make = (
  plan: Partial<ConstructorParameters<typeof Pool<One>>[0]> = {},
): { pool: Pool<One>; closed: number[] } => {
  let last = 0;
  const closed: number[] = [];
  const pool = new Pool<One>({
    what: 'things',
    open: () => ({ number: ++last, isAlive: true }),
    close: ({ number }) => {
      closed.push(number);
      return Promise.resolve(true);
    },
    isAlive: ({ isAlive }) => isAlive,
    ...{ idleMs: 60_000, most: 2, ...plan },
  });
  return { pool, closed };
};

/** The number that a call of a key gets, and why it is another one than before. */
const use = async (pool: Pool<One>, key: string): Promise<[number, string | undefined]> => {
  const { one, why, release } = await pool.take(key);
  release();
  return [one.number, why];
};

it('has one for each key, which calls share, also those that come at once', async () => {
  const { pool } = make();
  const taken = await Promise.all(['a', 'a', 'b'].map((key) => pool.take(key)));
  expect(taken.map(({ one }) => one.number)).toEqual([1, 1, 2]);
  for (const { release } of taken) release();
  expect(await use(pool, 'a')).toEqual([1, undefined]);
});

it('closes the one that was used longest ago where another one is needed, and says so once', async () => {
  const { pool, closed } = make();
  for (const key of ['a', 'b', 'a', 'c']) await use(pool, key);
  expect(closed).toEqual([2]);
  expect(await use(pool, 'b')).toEqual([4, 'others needed its place']);
  expect(await use(pool, 'b')).toEqual([4, undefined]);
});

it('refuses a call where all are busy, with proof, and opens no more than it may', async () => {
  const { pool, closed } = make();
  const first = await pool.take('a');
  const [second, third] = await Promise.allSettled([pool.take('b'), pool.take('c')]);
  expect([second?.status, third?.status]).toEqual(['fulfilled', 'rejected']);
  const reason: unknown = third?.status === 'rejected' ? third.reason : undefined;
  expect(provenBy(reason)).toBe('nothing_done');
  expect(String(reason)).toContain('2 things are busy');
  first.release();
  expect(await use(pool, 'c')).toEqual([3, undefined]);
  expect(closed).toEqual([1]);
});

it('closes what had no call for a while, and says so', async () => {
  const { pool, closed } = make({ idleMs: 1 });
  await use(pool, 'a');
  await until('its end', () => Promise.resolve(closed.length > 0));
  expect(await use(pool, 'a')).toEqual([2, 'it was idle for too long']);
});

it('never closes what a call still uses', async () => {
  const { pool, closed } = make({ idleMs: 1 });
  const [one, other] = [await pool.take('a'), await pool.take('a')];
  one.release();
  await use(pool, 'b');
  await until('the end of the other', () => Promise.resolve(closed.length > 0));
  expect(closed).toEqual([2]);
  other.release();
  await until('its end', () => Promise.resolve(closed.includes(1)));
});

it.each<[string, (pool: Pool<One>) => Promise<unknown>, string]>([
  ['was closed by a call', async (pool) => (await pool.take('a')).drop('it hung'), 'it hung'],
  [
    'ended by itself',
    async (pool) => {
      const { one, release } = await pool.take('a');
      release();
      one.isAlive = false;
    },
    'it had ended by itself',
  ],
])('opens another one for one that %s, and says so until a call has used it', async (_case, end, why) => {
  const { pool, closed } = make();
  await end(pool);
  const unused = await pool.take('a');
  expect([unused.one.number, unused.why]).toEqual([2, why]);
  unused.release('unused');
  expect(await use(pool, 'a')).toEqual([2, why]);
  expect(await use(pool, 'a')).toEqual([2, undefined]);
  expect(closed).toEqual([1]);
});

it('forgets one that could not be opened', async () => {
  let fails = true;
  const { pool } = make({
    open: () => {
      if (fails) throw new Error('no room');
      return { number: 9, isAlive: true };
    },
  });
  await expect(Promise.all([pool.take('a'), pool.take('a')])).rejects.toThrow('no room');
  fails = false;
  expect(await use(pool, 'a')).toEqual([9, undefined]);
});

it('closes all, also those that are in use', async () => {
  const { pool, closed } = make();
  await pool.take('a');
  await use(pool, 'b');
  await pool.close();
  expect(closed).toEqual([1, 2]);
});
