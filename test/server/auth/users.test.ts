import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestSecret } from '../../../src/server/auth/secrets';
import { createUsers } from '../../../src/server/auth/users';
import { isThorough } from '../../support/thorough';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-users-'));
  file = join(directory, 'state', 'users.json');
});

afterEach(() => rm(directory, { recursive: true, force: true }));

describe('adding', () => {
  it('gives a token of 256 bits and keeps only its digest, for the owner alone', async () => {
    const token = await createUsers(file).add('ann');
    expect(Buffer.from(token.replace(/^cs_/, ''), 'base64url')).toHaveLength(32);
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain(token);
    expect(text).toContain(digestSecret(token));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, 'state'))).mode & 0o777).toBe(0o700);
  });

  it('keeps those who are there, and finds each by the own token only', async () => {
    const users = createUsers(file);
    const [ann, bob] = [await users.add('ann'), await users.add('bob')];
    expect((await users.list()).map(({ name }) => name)).toEqual(['ann', 'bob']);
    expect(await users.withToken(ann)).toMatchObject({ name: 'ann' });
    expect(await users.withToken(bob)).toMatchObject({ name: 'bob' });
    for (const other of ['', 'x', ann.slice(0, -1), `${ann}x`, digestSecret(ann)])
      expect(await users.withToken(other)).toBeUndefined();
  });

  it.each([
    ['', /cannot be a user's name/],
    ['two words', /cannot be/],
    ['-rf', /cannot be/],
    ['an\u200bn', /cannot be/],
    ['а\u0430nn', /cannot be/],
    ['x'.repeat(65), /cannot be/],
    ['ann\n', /cannot be/],
  ])('refuses the name %j', async (name, message) => {
    await expect(createUsers(file).add(name)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(message),
    });
  });

  it('refuses a name that is taken, however it is written', async () => {
    await createUsers(file).add('ann');
    await expect(createUsers(file).add('Ann')).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('removing', () => {
  it('makes the token worthless', async () => {
    const users = createUsers(file);
    const token = await users.add('ann');
    await users.add('bob');
    await users.remove('ann');
    expect(await users.withToken(token)).toBeUndefined();
    expect((await users.list()).map(({ name }) => name)).toEqual(['bob']);
  });

  it('says who is not there', async () => {
    await expect(createUsers(file).remove('ann')).rejects.toMatchObject({ code: 'not_found' });
  });
});

it('loses nothing where several change the file at once, from other processes too', async () => {
  const users = createUsers(file);
  const gone = await users.add('gone');
  for (let round = 0; round < (isThorough ? 40 : 10); round++) {
    await Promise.all([
      createUsers(file).add(`new${round}`),
      createUsers(file).remove(round === 0 ? 'gone' : `new${round - 1}`),
    ]);
    expect((await users.list()).map(({ name }) => name)).toEqual([`new${round}`]);
  }
  expect(await users.withToken(gone)).toBeUndefined();
  await Promise.all(['a', 'b', 'c'].map((name) => users.add(name)));
  expect(await users.list()).toHaveLength(4);
});

describe('a file that is not to be trusted', () => {
  beforeEach(() => createUsers(file).add('ann'));

  it.each([0o640, 0o604, 0o660, 0o606, 0o610])('refuses mode %o', async (mode) => {
    await chmod(file, mode);
    await expect(createUsers(file).list()).rejects.toMatchObject({
      code: 'config_invalid',
      hint: `chmod 600 ${file}`,
    });
    await expect(createUsers(file).add('bob')).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('refuses a link, and a folder', async () => {
    const link = join(directory, 'link.json');
    await symlink(file, link);
    const folder = join(directory, 'folder.json');
    await mkdir(folder);
    for (const other of [link, folder])
      await expect(createUsers(other).list()).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it.each(['', '{', '[]', '{"users":{}}', '{"users":[{"name":"ann","tokenDigest":"short","createdAt":""}]}'])(
    'refuses %j',
    async (text) => {
      await writeFile(file, text);
      await expect(createUsers(file).list()).rejects.toMatchObject({ code: 'config_invalid' });
    },
  );
});

it('has nobody where there is no file', async () => {
  expect(await createUsers(file).list()).toEqual([]);
});
