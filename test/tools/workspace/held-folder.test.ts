import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../../../src/tools/errors';
import { type Folder, FOLDER_ACCESS, openFolder } from '../../../src/tools/workspace/held-folder';
import { HOLDINGS, makeBox } from './support';

const accesses = HOLDINGS.filter((access) => access === 'checks' || access === FOLDER_ACCESS);

describe.each(accesses)('a folder held by %s', (access) => {
  const held: Folder[] = [];
  afterEach(async () => {
    for (const folder of held.splice(0)) await folder.close();
  });
  const open = async (root: string, names: string[], make = false): Promise<Folder> => {
    const folder = await openFolder({ root, names, make }, access);
    held.push(folder);
    return folder;
  };

  it('reads and writes below itself', async () => {
    const { root } = makeBox({ 'a/b/old.txt': 'old' });
    const folder = await open(root, ['a', 'b']);
    writeFileSync(folder.at('new.txt'), 'new');
    await folder.sync();
    expect(readdirSync(join(root, 'a/b'))).toEqual(['new.txt', 'old.txt']);
    expect(readFileSync(folder.at('old.txt'), 'utf8')).toBe('old');
  });

  it.each<[string, string[], RegExp]>([
    ['a folder that does not exist', ['none'], /"none" does not exist/],
    ['a file', ['file.txt'], /"file.txt" leads through something that is not a folder/],
    ['a link to a folder', ['link'], /"link".*links are not followed/],
    ['a folder behind a link', ['link', 'sub'], /"link".*links are not followed/],
  ])('is refused for %s', async (_, names, message) => {
    const { root, outside } = makeBox({ 'file.txt': 'x' });
    mkdirSync(join(outside, 'sub'));
    symlinkSync(outside, join(root, 'link'));
    const thrown: unknown = await openFolder({ root, names }, access).catch((error: unknown) => error);
    expect(isToolError(thrown)).toBe(true);
    expect(String(thrown)).toMatch(message);
  });

  it('is made with the folders on the way, where that is asked for', async () => {
    const { root } = makeBox({ 'a/x.txt': 'x' });
    const folder = await open(root, ['a', 'b', 'c'], true);
    writeFileSync(folder.at('y.txt'), 'y');
    expect(readFileSync(join(root, 'a/b/c/y.txt'), 'utf8')).toBe('y');
  });

  it('makes no folder behind a link', async () => {
    const { root, outside } = makeBox();
    symlinkSync(outside, join(root, 'link'));
    await expect(openFolder({ root, names: ['link', 'made'], make: true }, access)).rejects.toThrow(/link/);
    expect(readdirSync(outside)).toEqual(['secret.txt']);
  });

  it('confirms what it holds under a name', async () => {
    const { root } = makeBox({ 'a/one.txt': '1' });
    const folder = await open(root, ['a']);
    await expect(folder.confirm('one.txt', lstatSync(join(root, 'a/one.txt')))).resolves.toBeUndefined();
    await expect(folder.verify()).resolves.toBeUndefined();
  });
});

it('by checks: what was opened is another file, or the folder is a link by now, is noticed', async () => {
  const { root, outside } = makeBox({ 'a/one.txt': '1', 'a/two.txt': '2' });
  const folder = await openFolder({ root, names: ['a'] }, 'checks');
  await expect(folder.confirm('one.txt', lstatSync(join(root, 'a/two.txt')))).rejects.toThrow(/changed/);
  renameSync(join(root, 'a'), join(root, 'b'));
  symlinkSync(outside, join(root, 'a'));
  await expect(folder.verify()).rejects.toThrow(/links are not followed/);
});

const onLinux = FOLDER_ACCESS === 'descriptors' ? it : it.skip;

onLinux('by descriptors: stays the same folder when another one takes its place', async () => {
  const { root, outside } = makeBox({ 'a/mine.txt': 'mine' });
  const folder = await openFolder({ root, names: ['a'] }, 'descriptors');
  renameSync(join(root, 'a'), join(root, 'b'));
  symlinkSync(outside, join(root, 'a'));
  expect(readdirSync(folder.at('.'))).toEqual(['mine.txt']);
  await folder.close();
});
