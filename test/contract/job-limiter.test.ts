import { setTimeout as delay } from 'node:timers/promises';
import { JobLimiter, KeyedLimiter } from '../../src/contract/job-limiter';

it('lets so many jobs run at once, and the others in the order in which they came', async () => {
  const limiter = new JobLimiter(2);
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const jobs = [0, 1, 2, 3].map((n) =>
    limiter.run(() => {
      started.push(n);
      return new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  for (let n = 0; n < 4; n++) {
    await new Promise(setImmediate);
    expect(started).toHaveLength(Math.min(4, n + 2));
    ends.shift()?.();
  }
  await Promise.all(jobs);
  expect(started).toEqual([0, 1, 2, 3]);
  expect(limiter.isIdle).toBe(true);
});

/** Jobs that note how many ran beside them. */
const jobs = () => {
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (name: string, by: number): void => {
    const now = (running.get(name) ?? 0) + by;
    running.set(name, now);
    most.set(name, Math.max(most.get(name) ?? 0, now));
  };
  const job = (turn: string) => async (): Promise<string> => {
    for (const name of [turn, 'all']) count(name, 1);
    await delay(5);
    for (const name of [turn, 'all']) count(name, -1);
    return turn;
  };
  return { job, most };
};

it('runs at most 50 jobs at once, and 8 of the same key', async () => {
  const { job, most } = jobs();
  const limit = new KeyedLimiter(8, new JobLimiter(50));
  const turns = [...Array<string>(64).fill('busy'), ...Array.from({ length: 200 }, (_, n) => `turn ${n}`)];
  expect(await Promise.all(turns.map((turn) => limit.run(turn, job(turn))))).toEqual(turns);
  expect(most.get('all')).toBe(50);
  expect(most.get('busy')).toBe(8);
});

it('jobs that wait for a busy key hold up no other key', async () => {
  const limit = new KeyedLimiter(8, new JobLimiter(50));
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const waiting = Array.from({ length: 100 }, () => limit.run('busy', () => held));
  expect(await limit.run('other', () => Promise.resolve('sent'))).toBe('sent');
  release();
  await Promise.all(waiting);
});

it('a job of a key that fails gives its place to the next', async () => {
  const limit = new KeyedLimiter(8, new JobLimiter(50));
  const sent = Array.from({ length: 100 }, (_, n) =>
    limit.run('busy', () => (n % 2 === 0 ? Promise.reject(new Error('no')) : Promise.resolve(n))),
  );
  const settled = await Promise.allSettled(sent);
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
});
