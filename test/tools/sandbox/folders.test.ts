import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  createFolders,
  holderOf,
  isWithin,
  listFolders,
  type Mount,
  pinned,
} from '../../../src/tools/sandbox/folders';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const mount = (path: string, isWritable = false): Mount => ({ path, isWritable });

it.each([
  ['/a/b', '/a', true],
  ['/a', '/a', true],
  ['/ab', '/a', false],
  ['/a', '/a/b', false],
  ['/a', '/', true],
])('%s within %s: %s', (path, folder, expected) => {
  expect(isWithin(path, folder)).toBe(expected);
});

it('takes the innermost mount as the one that holds a path', () => {
  const mounts = [mount('/a', true), mount('/a/b'), mount('/c')];
  expect(holderOf(mounts, '/a/b/x')).toEqual(mount('/a/b'));
  expect(holderOf(mounts, '/a/x')).toEqual(mount('/a', true));
  expect(holderOf(mounts, '/d')).toBeUndefined();
});

it('mounts each folder between two mounts, as the outer one is', () => {
  expect(pinned([mount('/a/b/c/d'), mount('/a', true), mount('/x')])).toEqual([
    mount('/a', true),
    mount('/x'),
    mount('/a/b', true),
    mount('/a/b/c', true),
    mount('/a/b/c/d'),
  ]);
});

it('finds where a link leads, and refuses one that leads to what is never shown', async () => {
  mkdirSync(join(scratch(), 'real'));
  symlinkSync(join(scratch(), 'real'), join(scratch(), 'good'));
  symlinkSync('/etc', join(scratch(), 'bad'));
  const find = (name: string) => createFolders(listFolders([join(scratch(), name)], []))();
  expect(await find('good')).toEqual([mount(join(scratch(), 'real'))]);
  await expect(find('bad')).rejects.toMatchObject({ code: 'config_invalid' });
  await expect(find('missing')).rejects.toMatchObject({ code: 'config_invalid' });
});

it('refuses a folder to which a link leads that programs could change', async () => {
  const [work, other] = [join(scratch(), 'work'), join(scratch(), 'other')];
  for (const folder of [work, other, join(work, 'inner')]) mkdirSync(folder);
  symlinkSync('../other', join(work, 'link'));
  symlinkSync(join(work, 'link'), join(scratch(), 'far'));
  symlinkSync(work, join(scratch(), 'near'));
  const find = (read: string) => createFolders(listFolders([join(scratch(), read)], [work]))();
  await expect(find('work/link')).rejects.toMatchObject({ code: 'config_invalid' });
  await expect(find('far')).rejects.toThrow(/goes over the link .*work\/link/);
  expect(await find('near/inner')).toEqual([mount(work, true), mount(join(work, 'inner'))]);
});
