import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { isToolError, isTransportError } from '../../../src/tools/errors';
import { createRoot, type FileLocation, withRegularFile } from '../../../src/tools/workspace/root';
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

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Expects an error after which an unsafe call is in doubt; returns its message. */
const doubtOf = async (work: Promise<unknown>): Promise<string> => {
  const thrown = await thrownBy(work);
  if (!isTransportError(thrown)) throw new Error(`no TransportError: ${String(thrown)}`);
  expect(thrown.nothingSent).toBe(false);
  return thrown.message;
};

/** The place on a disk that fails when the names of its folder are flushed. */
const failing = (place: FileLocation): FileLocation => ({
  ...place,
  folder: {
    ...place.folder,
    sync: async () => {
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    },
  },
});

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
    await inPlace(root, 'run.sh', (place) => writeAtomic(place, Buffer.from('new'), lstatSync(path)));
    expect(text('run.sh')).toBe('new');
    expect((statSync(path).mode & 0o7777).toString(8)).toBe('750');
  });

  it('leaves a file alone that has another name, and says so without a doubt', async () => {
    const { root, text, write } = makeBox();
    const path = write('a.txt', 'old');
    linkSync(path, join(root, 'other-name'));
    const over = inPlace(root, 'a.txt', (place) => writeAtomic(place, Buffer.from('new'), lstatSync(path)));
    await expect(over).rejects.toThrow(/has 2 names \(hard links\)/);
    expect([text('a.txt'), text('other-name')]).toEqual(['old', 'old']);
    expect(readdirSync(root).sort()).toEqual(['a.txt', 'other-name']);
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

  it.each(['makes', 'replaces'])(
    'does not say that it failed if the disk fails after it %s a file',
    async (how) => {
      const { root, text } = makeBox(how === 'makes' ? {} : { 'a.txt': 'old' });
      const replaced = how === 'makes' ? undefined : lstatSync(join(root, 'a.txt'));
      const write = inPlace(root, 'a.txt', (place) =>
        writeAtomic(failing(place), Buffer.from('new'), replaced),
      );
      expect(await doubtOf(write)).toBe(
        'The system failed (EIO) while "a.txt" was changed. Whether the change was made is not known. Look at it before you try again.',
      );
      expect(text('a.txt')).toBe('new');
      expect(readdirSync(root)).toEqual(['a.txt']);
    },
  );
});

describe('what writers that were killed left in the folder', () => {
  const NAME = `.countersign-${'0123456789abcdef01234567'}.tmp`;
  const leave = (root: string, name: string, ageHours: number): void => {
    const at = join(root, name);
    writeFileSync(at, 'left');
    const time = Date.now() / 1000 - ageHours * 3600;
    utimesSync(at, time, time);
  };
  const write = (root: string) => inPlace(root, 'a.txt', (place) => writeAtomic(place, Buffer.from('new')));

  it('is removed by the next write once it is older than a day', async () => {
    const { root } = makeBox();
    leave(root, NAME, 25);
    await write(root);
    expect(readdirSync(root)).toEqual(['a.txt']);
  });

  it.each([
    ['may be of a writer that runs', NAME, 23],
    ['has another name', '.countersign-notes.tmp', 1000],
    ['is what a removal has set aside', NAME.replace('.tmp', '.kept'), 1000],
  ])('stays where it %s', async (_, name, ageHours) => {
    const { root } = makeBox();
    leave(root, name, ageHours);
    await write(root);
    expect(readdirSync(root)).toEqual([name, 'a.txt']);
  });

  it('stays where it is a folder', async () => {
    const { root } = makeBox();
    mkdirSync(join(root, NAME));
    utimesSync(join(root, NAME), 1, 1);
    await write(root);
    expect(readdirSync(root)).toEqual([NAME, 'a.txt']);
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
      withRegularFile(place, async (handle, facts) => {
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

  it('is gone if the disk fails after it was removed: that is not a known failure', async () => {
    const { root } = makeBox({ 'a.txt': 'a' });
    const remove = afterLook(root, nothing, (place, seen) => removeSeen(failing(place), seen));
    expect(await doubtOf(remove)).toContain('"a.txt" was changed. Whether the change was made is not known');
    expect(readdirSync(root)).toEqual([]);
  });

  it.each(['old', 'new'])(
    'is moved if the disk of its %s folder fails then: not a known failure',
    async (which) => {
      const { root, text } = makeBox({ 'a.txt': 'a' });
      const move = afterLook(root, nothing, (place, seen) =>
        inPlace(root, 'b.txt', (target) =>
          which === 'old' ? moveSeen(failing(place), seen, target) : moveSeen(place, seen, failing(target)),
        ),
      );
      expect(await doubtOf(move)).toContain('"a.txt" was changed. Whether the change was made is not known');
      expect([readdirSync(root), text('b.txt')]).toEqual([['b.txt'], 'a']);
    },
  );

  it('is in doubt if it cannot be looked at after it lost its name; the error says where it is', async () => {
    const { root, text } = makeBox({ 'a.txt': 'a' });
    const remove = afterLook(root, nothing, async (place, { facts }) => {
      const closed = await open(join(root, 'a.txt'));
      await closed.close();
      await removeSeen(place, { handle: closed, facts });
    });
    const message = await doubtOf(remove);
    const [kept = ''] = readdirSync(root);
    expect(kept).toMatch(/^\.countersign-[0-9a-f]{24}\.kept$/);
    expect(message).toContain(`If it is gone, it may be kept at "${kept}"`);
    expect(text(kept)).toBe('a');
  });

  it('is in doubt if it cannot be looked at after it got its new name', async () => {
    const { root } = makeBox({ 'a.txt': 'a' });
    const move = afterLook(root, nothing, async (place, { facts }) => {
      const closed = await open(join(root, 'a.txt'));
      await closed.close();
      await inPlace(root, 'b.txt', (target) => moveSeen(place, { handle: closed, facts }, target));
    });
    expect(await doubtOf(move)).toContain('Whether the change was made is not known');
    expect(readdirSync(root)).toEqual(['a.txt', 'b.txt']);
  });

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
