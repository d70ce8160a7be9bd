import { readdirSync, readFileSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { openSubscriptions } from '../../../src/server/push/store';
import { subscriptionId } from '../../../src/server/push/subscription';
import { newBrowser } from '../../notify/push-server';
import { scratchDirectory } from '../../support/scratch';

const directory = scratchDirectory();
const folder = () => join(directory(), 'push');
const browser = (name: string) => newBrowser(`https://push.example.org/${name}`).subscription;

it('keeps each browser in a file that only its owner can read, for whoever opens the folder next', async () => {
  const store = openSubscriptions(folder());
  expect(await store.list()).toEqual([]);
  const [one, two] = [browser('1'), browser('2')];
  await Promise.all([store.add('ann', one, 1), store.add('bob', two, 2)]);
  const again = openSubscriptions(folder());
  expect(again.get(subscriptionId(one))).toEqual({ user: 'ann', at: 1, ...one });
  expect((await again.list()).map(({ user }) => user).sort()).toEqual(['ann', 'bob']);
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(folder())) expect(statSync(join(folder(), name)).mode & 0o777).toBe(0o600);
});

it('gives a browser to the last who was signed in there', async () => {
  const store = openSubscriptions(folder());
  const one = browser('1');
  await store.add('ann', one, 1);
  await store.add('bob', one, 2);
  expect(await store.list()).toMatchObject([{ user: 'bob', at: 2 }]);
});

it('removes a browser of a person, and none of another', async () => {
  const store = openSubscriptions(folder());
  const one = browser('1');
  await store.add('ann', one, 1);
  await store.remove(subscriptionId(one), 'bob');
  expect(await store.list()).toHaveLength(1);
  await openSubscriptions(folder()).remove(subscriptionId(one), 'ann');
  expect(await store.list()).toEqual([]);
  await store.remove(subscriptionId(one));
});

it('keeps the newest ten of a person, also where all come at once', async () => {
  const store = openSubscriptions(folder());
  await store.add('bob', browser('bob'), 0);
  await Promise.all(Array.from({ length: 14 }, (_, at) => store.add('ann', browser(`${at}`), at)));
  const all = await store.list();
  const kept = all.flatMap(({ user, at }) => (user === 'ann' ? [at] : [])).sort((a, b) => a - b);
  expect(kept).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(all).toHaveLength(11);
});

it.each<[string, (file: string) => void]>([
  ['others can write', (file) => chmodSync(file, 0o666)],
  ['is cut', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 50))],
  [
    'is of another browser',
    (file) => writeFileSync(file, JSON.stringify({ user: 'a', at: 1, ...browser('9') })),
  ],
])('leaves out a file that %s', async (_name, spoil) => {
  const store = openSubscriptions(folder());
  const one = browser('1');
  await store.add('ann', one, 1);
  spoil(join(folder(), `${subscriptionId(one)}.json`));
  expect(await store.list()).toEqual([]);
});

it.each(['', '../../etc/passwd', 'x'.repeat(64), `${'a'.repeat(64)}/../b`])('knows no browser %j', (id) => {
  expect(openSubscriptions(folder()).get(id)).toBeUndefined();
});
