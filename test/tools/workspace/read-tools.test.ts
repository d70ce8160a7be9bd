import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { makeBox, openWorkspace } from './support';
import { createRoot } from '../../../src/tools/workspace/root';
import { walk } from '../../../src/tools/workspace/read-tools';

describe('read_file', () => {
  const files = { 'a.txt': 'one\ntwo\r\nthree', 'empty.txt': '', 'b.bin': Buffer.from([1, 0, 2]) };
  it.each([
    [{ path: 'a.txt' }, 'one\ntwo\r\nthree'],
    [{ path: './/a.txt' }, 'one\ntwo\r\nthree'],
    [{ path: 'a.txt', first_line: 2 }, 'two\r\nthree'],
    [{ path: 'a.txt', first_line: 2, line_count: 1 }, 'two\r\n'],
    [{ path: 'a.txt', line_count: 9 }, 'one\ntwo\r\nthree'],
    [{ path: 'empty.txt' }, ''],
    [{ path: 'a.txt', first_line: 4 }, 'tool: The file has only 3 lines.'],
    [{ path: 'b.bin' }, 'tool: "b.bin" is a binary file of 3 bytes; it has no text to read.'],
    [{ path: 'none.txt' }, 'tool: "none.txt" does not exist. Look at the folder with list_directory.'],
    [{ path: '.' }, 'tool: This is the workspace itself; name a file in it.'],
  ])('%j', async (args, said) => {
    expect(await openWorkspace(files).hands.say('read_file', args)).toBe(said);
  });
});

describe('get_file_info', () => {
  it.each([
    ['text', 'a\nb', { size: 3, lines: 2, binary: false, encoding: 'UTF-8' }],
    ['Latin-1', Buffer.from([0xe9]), { size: 1, lines: 1, encoding: 'not UTF-8; shown as Latin-1' }],
    [
      'UTF-16',
      Buffer.from('\ufeffa\n', 'utf16le').swap16(),
      { size: 6, lines: 1, encoding: 'UTF-16, big-endian' },
    ],
    ['binary', Buffer.from([0]), { size: 1, binary: true }],
  ])('tells of a %s file', async (_, content, facts) => {
    expect(
      await openWorkspace({ 'a.txt': content }).hands.run('get_file_info', { path: 'a.txt' }),
    ).toMatchObject({
      path: 'a.txt',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      ...facts,
    });
  });
});

describe('listing', () => {
  const files = { 'b.txt': '', 'a/c.txt': '', '.git/x': '', 'node_modules/y': '', 'odd\nname': '' };
  it.each([
    ['list_directory', {}, '.git/\na/\nb.txt\nnode_modules/\n"odd\\nname"'],
    ['list_directory', { path: 'a' }, 'c.txt'],
    ['list_directory', { path: '.git' }, 'x'],
    ['directory_tree', {}, '.git/ (skipped)\na/\n  c.txt\nb.txt\nnode_modules/ (skipped)\n"odd\\nname"'],
    [
      'directory_tree',
      { depth: 1 },
      '.git/ (skipped)\na/ (too deep)\nb.txt\nnode_modules/ (skipped)\n"odd\\nname"',
    ],
    ['directory_tree', { path: 'a' }, 'c.txt'],
    [
      'list_directory',
      { path: 'none' },
      'tool: "none" does not exist. Look at the folder with list_directory.',
    ],
    ['list_directory', { path: 'b.txt' }, expect.stringContaining('not a folder')],
  ])('%s %j', async (name, args, said) => {
    expect(await openWorkspace(files).hands.say(name, args)).toEqual(said);
  });

  it('says when there is more, and when there is nothing', async () => {
    const { box, hands } = openWorkspace({ 'few/a': '' });
    expect(await openWorkspace().hands.run('list_directory', {})).toBe('(empty)');
    for (let index = 0; index < 2001; index++) box.write(`many/${index}`, '');
    for (const name of ['list_directory', 'directory_tree'])
      expect(await hands.say(name, { path: 'many' })).toMatch(
        /\n\(more than 2000 entries; list a folder below\)$/,
      );
  });
});

const box = makeBox({
  'b.txt': 'b',
  'a/one.txt': '1',
  'a/deep/two.txt': '2',
  'node_modules/x/index.js': '',
});
symlinkSync('/etc', join(box.root, 'link'));
const root = createRoot(box.root);

const steps = async (path: string, change: Partial<Parameters<typeof walk>[2]> = {}) => {
  const limits = { entries: 100, depth: 10, signal: new AbortController().signal, ...change };
  const found = [];
  for await (const step of walk(root, path, limits)) found.push(step);
  return found;
};

it('lists a folder by name, and says what each entry is', async () => {
  const entries = await steps('.', { depth: 1 });
  expect(entries.map(({ name, kind }) => ({ name, kind }))).toEqual([
    { name: 'a', kind: 'folder' },
    { name: 'b.txt', kind: 'file' },
    { name: 'link', kind: 'link' },
    { name: 'node_modules', kind: 'folder' },
  ]);
});

it('walks below folders, follows no link and skips what nobody wrote by hand', async () => {
  expect((await steps('.')).map(({ path, skipped }) => (skipped ? `${path}: ${skipped}` : path))).toEqual([
    'a',
    'a/deep',
    'a/deep/two.txt',
    'a/one.txt',
    'b.txt',
    'link',
    'node_modules: skipped',
  ]);
});

it('goes no deeper than asked, and says so', async () => {
  expect(await steps('a', { depth: 1 })).toEqual([
    { name: 'deep', kind: 'folder', path: 'a/deep', depth: 1, skipped: 'too deep' },
    { name: 'one.txt', kind: 'file', path: 'a/one.txt', depth: 1 },
  ]);
});

it('ends after its entries', async () => {
  expect(await steps('.', { entries: 3 })).toHaveLength(3);
});

it('ends when it is cancelled', async () => {
  await expect(steps('.', { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
});

it.each([
  ['missing', /does not exist/],
  ['b.txt', /not a folder/],
  ['../outside', /goes up/],
])('refuses to walk %s', async (path, message) => {
  await expect(steps(path)).rejects.toThrow(message);
});
