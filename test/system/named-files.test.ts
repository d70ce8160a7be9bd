import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile, toFileError, withFileErrors, writeNewFile } from '../../src/system/named-files';
import { CountersignError } from '../../src/contract/errors';
import { scratchDirectory } from '../support/scratch';

const directory = scratchDirectory();

it.each([
  ['ENOENT', 'there is no such file or folder'],
  ['ENOSPC', 'the disk is full'],
  ['EROFS', 'nothing can be written there'],
  ['EMFILE', 'EMFILE'],
])('tells %s in words', (code, why) => {
  const cause = Object.assign(new Error(`${code}: no`), { code });
  expect(toFileError(cause, 'writing a.txt')).toMatchObject({
    code: 'file_failed',
    message: `writing a.txt failed: ${why}`,
    data: { errno: code },
    cause,
  });
});

it.each([new Error('something else'), new CountersignError('usage', 'x'), 'text'])(
  'leaves %p as it is',
  (error) => {
    expect(toFileError(error, 'x')).toBe(error);
  },
);

it('gives what was done, or what failed', async () => {
  await expect(withFileErrors('x', async () => 7)).resolves.toBe(7);
  await expect(readTextFile(join(directory(), 'no'))).rejects.toMatchObject({ code: 'file_failed' });
  await expect(readTextFile(directory())).rejects.toMatchObject({
    message: expect.stringContaining('it is a folder'),
  });
});

it('writes only files that were not there, for their owner alone', async () => {
  const path = join(directory(), 'a');
  await writeNewFile(path, 'one');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(writeNewFile(path, 'two')).rejects.toMatchObject({ code: 'file_failed' });
  expect(readFileSync(path, 'utf8')).toBe('one');
  mkdirSync(join(directory(), 'b'));
  writeFileSync(join(directory(), 'c'), '');
  await expect(writeNewFile(join(directory(), 'c', 'd'), 'x')).rejects.toMatchObject({
    message: expect.stringContaining('a part of the path is a file'),
  });
});
