import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { foldsCase, pathSpelling } from '../../../src/tools/workspace/spelling';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spelling-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('spells paths in one way, and leaves what is refused as it is', () => {
  const { spell } = pathSpelling(folder);
  expect(spell({ path: './/prod/./x', content: './y' })).toEqual({ path: 'prod/x', content: './y' });
  expect(spell({ from: 'a//b', to: '../x', path: 7 })).toEqual({ from: 'a/b', to: '../x', path: 7 });
});

/** A file system that takes all names in upper and lower case for the same. */
const folding = {
  readdir: async () => ['prod'],
  stat: async (path: string) => ({ dev: 1, ino: path.toLowerCase().length }),
};

it('asks the file system whether names in upper and lower case are the same', async () => {
  await expect(foldsCase(folder, folding)).resolves.toBe(true);
  await mkdir(join(folder, 'prod'));
  await mkdir(join(folder, 'PROD')).catch(() => undefined);
  const own = await foldsCase(folder);
  await writeFile(join(folder, 'prod', 'a'), '');
  const isOne = await rm(join(folder, 'PROD', 'a')).then(
    () => true,
    () => false,
  );
  expect(own).toBe(isOne);
});

it('does not ask about a folder that is not there', async () => {
  await expect(foldsCase(join(folder, 'none'))).resolves.toBe(false);
});
