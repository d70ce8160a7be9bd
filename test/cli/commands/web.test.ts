import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Ended } from '../process';
import { runCli } from '../run-cli';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'countersign-state-'));
});
afterEach(() => rm(state, { recursive: true, force: true }));

const user = (...args: string[]): Promise<Ended> =>
  runCli(['web', 'user', ...args], { env: { XDG_STATE_HOME: state } });
const usersFile = (): string => join(state, 'countersign', 'users.json');

const added = z.object({ name: z.string(), token: z.string() });

it('adds, lists and removes users, and shows a token once', async () => {
  const { code, out } = await user('ann');
  const [, token = ''] = /^ {2}(cs_[\w-]{43})$/m.exec(out) ?? [];
  expect({ code, token }).toEqual({ code: 0, token: expect.stringMatching(/./) });
  const { name, token: other } = added.parse(JSON.parse((await user('bob', '--json')).out));
  expect({ name, other }).toEqual({ name: 'bob', other: expect.stringMatching(/^cs_[\w-]{43}$/) });
  const text = await readFile(usersFile(), 'utf8');
  for (const secret of [token, other]) expect(text).not.toContain(secret);
  expect((await user()).out).toMatch(/^USER +ADDED +MAY ALSO\nann +\S.*\nbob +\S.*\n$/);
  expect((await user('ann', '--remove')).out).toBe('ann is removed and signed out\n');
  expect(JSON.parse((await user('--json')).out)).toEqual([
    { name: 'bob', createdAt: expect.stringMatching(/Z$/), rights: [] },
  ]);
});

it('says so where nobody has a token', async () => {
  expect(await user()).toEqual({ code: 0, out: 'Nobody has a token.\n', err: '' });
});

it('gives the right to fork with effects where it is said, and shows who has it', async () => {
  await user('ann', '--may-fork');
  await user('bob');
  expect((await user()).out).toMatch(/\nann +\S.*\S +forks with effects\nbob +\S.*\n$/);
});

it.each<[string[], number, string]>([
  [['two words'], 2, '[usage]'],
  [['--remove'], 2, '[usage]'],
  [['--may-fork'], 2, '[usage]'],
  [['ann', '--remove'], 4, '[not_found]'],
  [['ann', '--remove', '--may-fork'], 2, '--may-fork and --remove exclude each other'],
  [['ann', 'bob'], 2, '[usage]'],
])('user %j ends with %i', async (args, code, told) => {
  const ended = await user(...args);
  expect(ended).toMatchObject({ code, out: '' });
  expect(ended.err).toContain(told);
});

it('refuses a file that others can read, and says what to type', async () => {
  await user('ann');
  await chmod(usersFile(), 0o644);
  const { code, err } = await user();
  expect(code).toBe(2);
  expect(err).toContain(`chmod 600 ${usersFile()}`.slice(1));
});

it('takes another file, before or after the command', async () => {
  const file = join(state, 'others.json');
  await runCli(['web', '--users', file, 'user', 'ann']);
  expect((await runCli(['web', 'user', '--users', file])).out).toContain('ann');
});
