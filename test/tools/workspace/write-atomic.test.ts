import { chmodSync, linkSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../../../src/tools/errors';
import { createRoot, type FileLocation, withFile } from '../../../src/tools/workspace/root';
import {
  ignoreMissing,
  linkNewName,
  moveSeen,
  removeSeen,
  writeAtomic,
} from '../../../src/tools/workspace/write-atomic';
import { makeBox } from './support';

const inPlace = <T>(root: string, path: string, use: (place: FileLocation) => Promise<T>): Promise<T> =>
  createRoot(root).inParent(path, use);

const conflictOf = async (work: Promise<unknown>): Promise<string> => {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!isToolError(thrown)) throw new Error(`no ToolError: ${String(thrown)}`);
  expect(thrown.code).toBe('conflict');
  return thrown.message;
};

describe('writing', () => {
  it('makes a new file, and leaves nothing beside it', async () => {
    const { root, text } = makeBox();
    await inPlace(root, 'new.txt', (place) => writeAtomic(place, Buffer.from('new')));
    expect(text('new.txt')).toBe('new');
    expect(readdirSync(root)).toEqual(['new.txt']);
  });

  it('replaces the file that was read, and keeps its permissions but no set-user bit', async () => {
    const { root, text, write } = makeBox();
    const path = write('run.sh', 'old');
    chmodSync(path, 0o4750);
    linkSync(path, join(root, 'other-name'));
    await inPlace(root, 'run.sh', (place) => writeAtomic(place, Buffer.from('new'), lstatSync(path)));
    expect([text('run.sh'), text('other-name')]).toEqual(['new', 'old']);
    expect((statSync(path).mode & 0o7777).toString(8)).toBe('750');
  });

  it('refuses a name that is taken, and a file that was touched since it was read', async () => {
    const { root, text, write } = makeBox({ 'a.txt': 'mine' });
    const before = lstatSync(join(root, 'a.txt'));
    const over = (replaced?: typeof before) =>
      inPlace(root, 'a.txt', (place) => writeAtomic(place, Buffer.from('x'), replaced));
    expect(await conflictOf(over())).toContain('"a.txt" exists by now');
    write('a.txt', 'theirs, and longer');
    expect(await conflictOf(over(before))).toContain('"a.txt" changed just now');
    expect(text('a.txt')).toBe('theirs, and longer');
    expect(readdirSync(root)).toEqual(['a.txt']);
  });
});

it('gives a file a second name, which has to be free', async () => {
  const { root, text } = makeBox({ 'a.txt': 'a', 'taken.txt': 't' });
  const link = (name: string) => inPlace(root, name, (place) => linkNewName(join(root, 'a.txt'), place));
  await link('b.txt');
  expect(text('b.txt')).toBe('a');
  expect(await conflictOf(link('taken.txt'))).toContain('"taken.txt" exists by now');
});

describe('a file that was looked at', () => {
  /** Looks at `a.txt`, lets something happen, then does the work. */
  const afterLook = (
    root: string,
    happens: () => void,
    work: (place: FileLocation, seen: Parameters<typeof removeSeen>[1]) => Promise<void>,
  ): Promise<void> =>
    inPlace(root, 'a.txt', (place) =>
      withFile(place, async (handle, facts) => {
        happens();
        await work(place, { handle, facts });
      }),
    );
  const moveTo =
    (root: string, name: string) => (place: FileLocation, seen: Parameters<typeof moveSeen>[1]) =>
      inPlace(root, name, (target) => moveSeen(place, seen, target));
  const nothing = (): void => undefined;

  it('is removed', async () => {
    const { root } = makeBox({ 'a.txt': 'a' });
    await afterLook(root, nothing, removeSeen);
    expect(readdirSync(root)).toEqual([]);
  });

  it('is moved', async () => {
    const { root, text } = makeBox({ 'a.txt': 'a' });
    await afterLook(root, nothing, moveTo(root, 'b.txt'));
    expect(readdirSync(root)).toEqual(['b.txt']);
    expect(text('b.txt')).toBe('a');
  });

  it.each(['removed', 'moved'])(
    'is not %s where somebody wrote to it meanwhile, and keeps its name',
    async (how) => {
      const { root } = makeBox({ 'a.txt': 'a' });
      const work = how === 'removed' ? removeSeen : moveTo(root, 'b.txt');
      const write = (): void => writeFileSync(join(root, 'a.txt'), 'written meanwhile');
      expect(await conflictOf(afterLook(root, write, work))).toMatch(/"a.txt" changed just now; nothing was/);
      expect(readdirSync(root)).toEqual(['a.txt']);
      expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('written meanwhile');
    },
  );

  it('is not moved over another file', async () => {
    const { root, text } = makeBox({ 'a.txt': 'a', 'b.txt': 'b' });
    expect(await conflictOf(afterLook(root, nothing, moveTo(root, 'b.txt')))).toContain(
      '"b.txt" exists by now',
    );
    expect([text('a.txt'), text('b.txt')]).toEqual(['a', 'b']);
  });
});

it.each([
  ['a file that is gone', 'ENOENT', false],
  ['a missing permission', 'EACCES', true],
])('of errors, %s is %j: passed on %s', (_, code, isPassedOn) => {
  const error = Object.assign(new Error(code), { code });
  if (isPassedOn) expect(() => ignoreMissing(error)).toThrow(error);
  else expect(() => ignoreMissing(error)).not.toThrow();
});
