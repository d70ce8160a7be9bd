import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import {
  appendLine,
  createWhole,
  createWithLine,
  flushFolder,
  privateFaultText,
  readIfThere,
  readPrivateFile,
  replaceFile,
  syncFolder,
  unlessMissing,
  userCacheDir,
  userStateDir,
} from '../../src/system/files';
import { scratchDirectory } from '../support/scratch';

type PrivateRefusal = Parameters<typeof privateFaultText>[0];

const directory = scratchDirectory();
const path = (name = 'file'): string => join(directory(), name);
const modeOf = (file: string): number => statSync(file).mode & 0o777;

it.each<[NodeJS.ProcessEnv, string]>([
  [{ XDG_STATE_HOME: '/state' }, join('/state', 'countersign')],
  [{}, join(homedir(), '.local', 'state', 'countersign')],
])('with %j the state folder is %s', (env, folder) => {
  expect(userStateDir(env)).toBe(folder);
});

it.each([
  ['linux', { HOME: '/h' }, '/h/.cache/countersign'],
  ['darwin', { HOME: '/h' }, '/h/Library/Caches/countersign'],
  ['linux', { HOME: '/h', XDG_CACHE_HOME: '/x' }, '/x/countersign'],
  ['darwin', { HOME: '/h', XDG_CACHE_HOME: '/x' }, '/x/countersign'],
  ['linux', { HOME: '/h', XDG_CACHE_HOME: '' }, '/h/.cache/countersign'],
] as const)('on %s with %j the cache folder is %s', (platform, env, folder) => {
  expect(userCacheDir(env, platform)).toBe(folder);
});

describe('a file that may be missing', () => {
  it('is undefined where it is missing', async () => {
    await expect(readIfThere(path())).resolves.toBeUndefined();
  });

  it('is its text where it is there', async () => {
    writeFileSync(path(), 'text');
    await expect(readIfThere(path())).resolves.toBe('text');
  });

  it('rejects for every other reason', async () => {
    await expect(readIfThere(directory())).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(unlessMissing(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});

describe('replaceFile', () => {
  it.each([
    ['text', 'new'],
    ['what writes it', async (draft: { writeFile(text: string): Promise<void> }) => draft.writeFile('new')],
  ])('puts %s in place of the old file, for its owner alone', async (_, content) => {
    writeFileSync(path(), 'old', { mode: 0o644 });
    await replaceFile(path(), content);
    expect(readFileSync(path(), 'utf8')).toBe('new');
    expect(modeOf(path())).toBe(0o600);
    expect(readdirSync(directory())).toEqual(['file']);
  });

  it('makes a file that was not there', async () => {
    await replaceFile(path(), 'new');
    expect(readFileSync(path(), 'utf8')).toBe('new');
  });

  it('leaves the old file and no draft where writing fails', async () => {
    writeFileSync(path(), 'old');
    const fail = async (): Promise<void> => {
      throw new Error('half-way');
    };
    await expect(replaceFile(path(), fail)).rejects.toThrow('half-way');
    expect(readFileSync(path(), 'utf8')).toBe('old');
    expect(readdirSync(directory())).toEqual(['file']);
  });

  it('leaves no draft where the name is taken by a folder', async () => {
    mkdirSync(path());
    await expect(replaceFile(path(), 'new')).rejects.toMatchObject({ code: 'EISDIR' });
    expect(readdirSync(directory())).toEqual(['file']);
  });

  it('is one of the two whole when two replace at once', async () => {
    const texts = ['a', 'b'].map((char) => char.repeat(100_000));
    await Promise.all(texts.map((text) => replaceFile(path(), text)));
    expect(texts).toContain(readFileSync(path(), 'utf8'));
  });
});

describe('lines', () => {
  it('are created once and appended to', async () => {
    await createWithLine(path(), 'one');
    await appendLine(path(), 'two');
    await expect(createWithLine(path(), 'again')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(path(), 'utf8')).toBe('one\ntwo\n');
    expect(modeOf(path())).toBe(0o600);
  });

  it('are appended to no file that is missing', async () => {
    await expect(appendLine(path(), 'two')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(existsSync(path())).toBe(false);
  });
});

it('createWhole makes a file once, and nobody sees a part of it', async () => {
  const content = 'x'.repeat(100_000);
  const seen = new Set<string>();
  const made = Array.from({ length: 20 }, () => createWhole(path(), content).then(() => 'made'));
  const looks = setInterval(() => existsSync(path()) && seen.add(readFileSync(path(), 'utf8')), 0);
  const ends = await Promise.allSettled(made);
  clearInterval(looks);
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(ends).toContainEqual({ status: 'rejected', reason: expect.objectContaining({ code: 'EEXIST' }) });
  expect([...seen, readFileSync(path(), 'utf8')].every((text) => text === content)).toBe(true);
  expect(readdirSync(directory())).toEqual(['file']);
  expect(modeOf(path())).toBe(0o600);
});

it('syncFolder rejects for a folder that is missing', async () => {
  await expect(syncFolder(path('none'))).rejects.toMatchObject({ code: 'ENOENT' });
});

describe('readPrivateFile', () => {
  it('reads a file of ours that nobody else can read', () => {
    writeFileSync(path(), 'secret', { mode: 0o600 });
    expect(readPrivateFile(path())).toEqual({ text: 'secret' });
    expect(readPrivateFile(path(), { strict: true })).toEqual({ text: 'secret' });
  });

  it.each([0o640, 0o604, 0o620, 0o601])('refuses mode %o', (mode) => {
    writeFileSync(path(), 'secret');
    chmodSync(path(), mode);
    expect(readPrivateFile(path())).toEqual({ fault: 'open_to_others' });
  });

  it('says that there is no such file', () => {
    expect(readPrivateFile(path())).toMatchObject({ fault: 'missing', cause: { code: 'ENOENT' } });
  });

  it('refuses a folder, and does not wait for a pipe', () => {
    execFileSync('mkfifo', ['-m', '600', path('pipe')]);
    expect(readPrivateFile(directory())).toEqual({ fault: 'not_a_file' });
    expect(readPrivateFile(path('pipe'))).toEqual({ fault: 'not_a_file' });
  });

  it.each([
    [4, { text: 'four' }],
    [3, { fault: 'too_large' }],
  ])('with a limit of %i bytes', (limit, expected) => {
    writeFileSync(path(), 'four', { mode: 0o600 });
    expect(readPrivateFile(path(), { limit })).toEqual(expected);
  });

  it('follows a link, and refuses it when strict', () => {
    writeFileSync(path(), 'secret', { mode: 0o600 });
    symlinkSync(path(), path('link'));
    expect(readPrivateFile(path('link'))).toEqual({ text: 'secret' });
    expect(readPrivateFile(path('link'), { strict: true })).toMatchObject({ fault: 'unreadable' });
  });

  it.each<[string, PrivateRefusal, string]>([
    ['without its cause', { fault: 'missing', cause: new Error('ENOENT') }, 'does not exist'],
    ['with its cause', { fault: 'unreadable', cause: new Error('EACCES') }, 'cannot be read: EACCES'],
    ['by its mode', { fault: 'open_to_others' }, 'can be read or changed by others'],
  ])('has words for a refusal, %s', (_, refusal, words) => {
    expect(privateFaultText(refusal)).toBe(words);
  });

  it.each([
    ['refuses a file of another user', 4343, {}, { fault: 'not_yours' }],
    ['reads a file of another user as root', 0, {}, { text: 'secret' }],
    ['refuses a file of another user even as root when strict', 0, { strict: true }, { fault: 'not_yours' }],
  ])('%s', (_, uid, options, expected) => {
    writeFileSync(path(), 'secret', { mode: 0o600 });
    const getuid = process.getuid;
    if (getuid?.() === 0) chownSync(path(), 4242, 4242);
    process.getuid = () => uid;
    try {
      expect(readPrivateFile(path(), options)).toEqual(expected);
    } finally {
      if (getuid !== undefined) process.getuid = getuid;
    }
  });
});

const failsWith = (code: string) => ({
  sync: () => Promise.reject(Object.assign(new Error(code), { code })),
});

it.each(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
  'a file system that cannot flush a folder is taken as it is: %s',
  async (code) => {
    await expect(flushFolder(failsWith(code))).resolves.toBeUndefined();
  },
);

it.each(['EIO', 'ENOSPC', 'EBADF'])('a flush of a folder that fails is an error: %s', async (code) => {
  await expect(flushFolder(failsWith(code))).rejects.toThrow(code);
});
