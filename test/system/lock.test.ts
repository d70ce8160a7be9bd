import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { withLock } from '../../src/system/lock';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();
const path = (): string => join(scratch(), 'lock');
const options = { progress: (): void => undefined, what: 'Work is done' };
const DEAD = '999999999';

it('lets one in at a time', async () => {
  let [inside, most, done] = [0, 0, 0];
  const body = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await turn();
    inside--;
    done++;
  };
  await Promise.all(Array.from({ length: 5 }, () => withLock(path(), options, body)));
  expect({ most, done }).toEqual({ most: 1, done: 5 });
});

it('is free again after an error', async () => {
  await expect(withLock(path(), options, async () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(existsSync(path())).toBe(false);
});

it('lets one in at a time when many find the lock of a dead process', async () => {
  writeFileSync(path(), DEAD);
  let [inside, most] = [0, 0];
  const body = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await turn();
    inside--;
  };
  await Promise.all(Array.from({ length: 5 }, () => withLock(path(), options, body)));
  expect(most).toBe(1);
});

it('says who it waits for', async () => {
  const said: string[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let enter: () => void = () => undefined;
  const inside = new Promise<void>((resolve) => (enter = resolve));
  const first = withLock(path(), options, async () => {
    enter();
    await gate;
  });
  await inside;
  const second = withLock(
    path(),
    { ...options, progress: (line) => void (said.push(line), open()) },
    async () => 'in',
  );
  expect(await second).toBe('in');
  await first;
  expect(said).toEqual([`Work is done by another process; waiting for it (${path()})`]);
});

it('fails where no file can be written', async () => {
  await expect(withLock(join(scratch(), 'missing', 'lock'), options, async () => 'in')).rejects.toThrow(
    'ENOENT',
  );
});
