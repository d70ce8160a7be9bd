import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { race } from '../../src/system/race';

const never = (): Promise<never> => new Promise(() => undefined);
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each<[string, () => Promise<string>[], string]>([
  ['the only one', () => [Promise.resolve('a')], 'a'],
  ['the one that settles', () => [never(), Promise.resolve('b')], 'b'],
  ['the first of two that have settled', () => [Promise.resolve('a'), Promise.resolve('b')], 'a'],
  ['one that is there twice', () => Array<Promise<string>>(2).fill(Promise.resolve('a')), 'a'],
])('the result is that of %s', async (_, promises, expected) => {
  expect(await race(promises())).toBe(expected);
});

test('fails with the one that fails first, whatever comes later', async () => {
  await expect(race([never(), Promise.reject(new Error('no')), Promise.resolve('late')])).rejects.toThrow(
    'no',
  );
  await expect(race([Promise.resolve('first'), Promise.reject(new Error('late'))])).resolves.toBe('first');
});

test('a promise that outlives many races wins the one during which it settles, and those after', async () => {
  let settle: (value: string) => void = () => undefined;
  const lasting = new Promise<string>((resolve) => (settle = resolve));
  for (let n = 0; n < 3; n++) expect(await race([lasting, Promise.resolve(`${n}`)])).toBe(`${n}`);
  const pending = [race([lasting, never()]), race([never(), lasting])];
  settle('over');
  expect(await Promise.all(pending)).toEqual(['over', 'over']);
  expect(await race([lasting, never()])).toBe('over');
});

/** How many of the results of 50 races are kept while a promise that was in all of them is pending. */
async function keptBy(racing: typeof race): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  const lasting = never();
  const results: WeakRef<object>[] = [];
  for (let n = 0; n < 50; n++) {
    const result = { n };
    results.push(new WeakRef(result));
    await racing<unknown>([lasting, Promise.resolve(result)]);
  }
  await tick();
  if (typeof collect === 'function') collect();
  // It has to be there until now.
  void racing([lasting]);
  return results.filter((one) => one.deref() !== undefined).length;
}

test('keeps no result where Promise.race keeps all of them', async () => {
  expect(await keptBy((promises) => Promise.race(promises))).toBe(50);
  expect(await keptBy(race)).toBeLessThan(5);
});
