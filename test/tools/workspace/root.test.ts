import { mkdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createRoot, readBytes, readBytesIfThere, withRegularFile } from '../../../src/tools/workspace/root';
import { HOLDINGS, makeBox } from './support';

describe.each(HOLDINGS)('a root held by %s', (holding) => {
  const box = makeBox({ 'a.txt': 'hello', 'folder/b.txt': 'b' });
  symlinkSync(join(box.outside, 'secret.txt'), join(box.root, 'link'));
  symlinkSync(box.outside, join(box.root, 'way-out'));
  mkdirSync(join(box.root, 'empty'));
  const root = createRoot(box.root, { holding, fileBytes: 8 });

  it('reads a regular file', async () => {
    const content = await root.inParent('folder/b.txt', readBytes);
    expect(content.bytes.toString()).toBe('b');
    expect(content.facts.size).toBe(1);
  });

  it.each([
    ['a link', 'link', /is a link/],
    ['a folder that is a link', 'way-out/secret.txt', /link|not a folder/],
    ['a folder', 'empty', /is a folder/],
    ['the root itself', '.', /workspace itself/],
    ['a path that goes up', '../outside/secret.txt', /goes up/],
    ['a file that does not exist', 'no.txt', /does not exist/],
  ])('refuses to read %s', async (_, path, message) => {
    await expect(root.inParent(path, readBytes)).rejects.toThrow(message);
  });

  it('refuses a file over its limit', async () => {
    box.write('long.txt', '123456789');
    await expect(root.inParent('long.txt', readBytes)).rejects.toThrow('has 9 bytes');
  });

  it.each([
    ['a file', 'a.txt', 'hello'],
    ['a missing file', 'no.txt', undefined],
    ['a file in a missing folder', 'no/a.txt', undefined],
  ])('reads %s, if it is there', async (_, path, text) => {
    expect((await readBytesIfThere(root, path))?.bytes.toString()).toBe(text);
  });

  it('makes missing folders only where it is asked to', async () => {
    await expect(root.inParent('new/one/a.txt', async () => 'used')).rejects.toThrow('does not exist');
    expect(await root.inParent('new/one/a.txt', async ({ name }) => name, { make: true })).toBe('a.txt');
    expect(await root.inFolder('new/one', async () => 'used')).toBe('used');
  });

  it('closes the file after it was used, also after a throw', async () => {
    let fd = -1;
    const use = root.inParent('a.txt', (location) =>
      withRegularFile(location, async (handle) => {
        fd = handle.fd;
        throw new Error('stop');
      }),
    );
    await expect(use).rejects.toThrow('stop');
    expect(fd).toBeGreaterThan(0);
  });
});

it.each([
  ['another folder', (at: string) => mkdirSync(at)],
  ['a link', (at: string) => symlinkSync('elsewhere', at)],
  ['nothing', () => undefined],
])('held by checks: after the folder became %s, it is not said that nothing was done', async (_, replace) => {
  const box = makeBox({ 'folder/b.txt': 'b' });
  const root = createRoot(box.root, { holding: 'checks' });
  const use = root.inParent('folder/b.txt', async ({ at }) => {
    unlinkSync(at);
    renameSync(join(box.root, 'folder'), join(box.root, 'elsewhere'));
    replace(join(box.root, 'folder'));
  });
  await expect(use).rejects.toThrow(
    'A folder on the way changed while it was used. Whether the work was done, and in which folder, is not known. Look at it before you try again.',
  );
});

it.each([[undefined], [null], [7], [''], ['a\0b']])('refuses %p as a root', (directory) => {
  expect(() => Reflect.apply(createRoot, undefined, [directory])).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});
