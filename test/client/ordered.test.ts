import fc from 'fast-check';
import { mapOrdered } from '../../src/client/ordered';

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
