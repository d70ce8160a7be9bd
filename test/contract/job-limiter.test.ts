import { JobLimiter } from '../../src/contract/job-limiter';

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
