import { mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFiles, type ProjectFiles } from '../../../src/tools/code/files';
import { makeFolder } from './support';

const root = makeFolder({
  'src/a.ts': 'a',
  'src/data.json': '{}',
  'src/.env': 'SECRET=1',
  'src/notes.txt': 'n',
  '.git/config.json': '{}',
  '.git/hook.ts': 'g',
  '.ssh/key.ts': 'k',
  'node_modules/pack/index.d.ts': 'p',
});
const outside = makeFolder({ 'secret.ts': 'secret', 'folder/deep.ts': 'deep' });
const own = makeFolder({ 'lib.d.ts': 'lib' });
let files: ProjectFiles;

beforeAll(() => {
  symlinkSync(join(outside, 'secret.ts'), join(root, 'src', 'out.ts'));
  symlinkSync(join(outside, 'folder'), join(root, 'src', 'outfolder'));
  symlinkSync('a.ts', join(root, 'src', 'inside.ts'));
  symlinkSync('../src', join(root, 'node_modules', 'self'));
  symlinkSync('.env', join(root, 'src', 'env.ts'));
  symlinkSync('loop.ts', join(root, 'src', 'loop.ts'));
  mkdirSync(join(root, 'src', 'folder.ts'));
});

beforeEach(() => {
  files = createFiles(root, own);
});

const at = (path: string): string => (path.startsWith('/') ? path : join(root, path));

it.each([
  ['a source', 'src/a.ts', 'a'],
  ['JSON', 'src/data.json', '{}'],
  ['a package', 'node_modules/pack/index.d.ts', 'p'],
  ['a link that stays inside', 'src/inside.ts', 'a'],
  ['a file through a folder link that stays inside', 'node_modules/self/a.ts', 'a'],
  ["TypeScript's own library", join(own, 'lib.d.ts'), 'lib'],
])('reads %s', (_case, path, text) => {
  expect(files.read(at(path))).toBe(text);
  expect(files.isFile(at(path))).toBe(true);
});

it.each([
  ['a file outside', join(outside, 'secret.ts')],
  ['a path that goes up', 'src/../../x.ts'],
  ['a link out of the root', 'src/out.ts'],
  ['a file behind a folder link out of the root', 'src/outfolder/deep.ts'],
  ['a link to itself', 'src/loop.ts'],
  ['a file that is not a source', 'src/.env'],
  ['text', 'src/notes.txt'],
  ['a source of .git', '.git/hook.ts'],
  ['JSON of .git', '.git/config.json'],
  ['a source of .ssh', '.ssh/key.ts'],
  ['a folder', 'src/folder.ts'],
  ['a missing file', 'src/missing.ts'],
  ['a name with NUL', 'src/a.ts\0.ts'],
  ['a system file', '/etc/passwd'],
  ['the folder beside that begins alike', `${root}x/a.ts`],
])('does not read %s', (_case, path) => {
  expect(files.read(at(path))).toBeUndefined();
  expect(files.isFile(at(path))).toBe(false);
});

it('reads no secret through a link that looks like a source', () => {
  expect(files.read(at('src/env.ts'))).toBeUndefined();
});

it('lists sources and folders, links only where they stay inside', () => {
  expect(files.list(at('src'))).toEqual({
    files: ['a.ts', 'data.json', 'inside.ts'],
    directories: ['folder.ts'],
  });
  expect(files.list(root).directories).toEqual(['node_modules', 'src']);
  expect(files.list(outside)).toEqual({ files: [], directories: [] });
});

it('knows the root itself as a folder, and none outside', () => {
  expect([root, at('src'), at('src/a.ts'), outside, join(root, '..')].map(files.isFolder)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('takes a file over 16 MiB for empty, and says so', () => {
  writeFileSync(at('src/huge.ts'), Buffer.alloc(17 * 1024 * 1024, 0x20));
  expect(files.read(at('src/huge.ts'))).toBe('');
  expect(files.tooLarge()).toEqual([at('src/huge.ts')]);
  writeFileSync(at('src/huge.ts'), 'small');
  files.refresh();
  expect(files.read(at('src/huge.ts'))).toBe('small');
  expect(files.tooLarge()).toEqual([]);
});

it('gives another version after each change, also one of the same size and time', () => {
  const path = at('src/changed.ts');
  const time = new Date(1_000_000_000_000);
  const versions = ['one', 'two'].map((text) => {
    writeFileSync(`${path}.new.ts`, text);
    utimesSync(`${path}.new.ts`, time, time);
    renameSync(`${path}.new.ts`, path);
    files.refresh();
    return files.version(path);
  });
  expect(new Set(versions).size).toBe(2);
  expect(files.version(at('src/missing.ts'))).toBe('');
});

it('keeps the versions of one question the same, and looks anew for the next', () => {
  const path = at('src/kept.ts');
  writeFileSync(path, 'one');
  const before = files.version(path);
  writeFileSync(path, 'longer');
  expect(files.version(path)).toBe(before);
  files.refresh();
  expect(files.version(path)).not.toBe(before);
});

it.each([
  ['a byte order mark', Buffer.from('\ufefftext'), 'text'],
  ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('text', 'utf16le')]), 'text'],
])('reads a file with %s', (_case, bytes, text) => {
  writeFileSync(at('src/encoded.ts'), bytes);
  expect(files.read(at('src/encoded.ts'))).toBe(text);
});

it.each([
  ['src/a.ts', 'src/a.ts'],
  ['src/a\nb.ts', '"src/a\\nb.ts"'],
  ['.', '.'],
])('shows %j on one line', (path, shown) => {
  expect(files.shown(join(root, path))).toBe(shown);
});
