import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../../src/cli/program';
import { checkSeenDigest, notePrinted, wasPrinted } from '../../../src/cli/review/seen';
import { request } from '../support';
import { scratchDirectory } from '../../support/scratch';

const DIGEST = '0123456789abcdef'.repeat(4);
const check = (saw: string | undefined, canAsk = false) =>
  checkSeenDigest(request(), { saw, id: 't/1.1', canAsk });

it.each([
  ['the first 32 characters', DIGEST.slice(0, 32)],
  ['the whole digest', DIGEST],
])('%s say what was seen', (_, saw) => {
  expect([check(saw), check(saw, true)]).toEqual(['said', 'said']);
});

it.each([['approve'], ['grants']])('the help of %s says which characters these are', (name) => {
  const cli = createProgram({ out: process.stdout, err: process.stderr, env: {} });
  const found = cli.commands.find((one) => one.name() === name);
  const saw = found?.options.find(({ long }) => long === '--saw');
  expect(saw?.description).toContain('the first 32 characters of the digest');
});

it('nothing has to be said where a person can be asked', () => {
  expect(check(undefined, true)).toBeUndefined();
});

it.each([
  ['nothing, where nobody can be asked', undefined, 'usage', /there is no terminal here/],
  ['8 digits', '01234567', 'usage', /not a digest/],
  ['15 digits', DIGEST.slice(0, 15), 'usage', /not a digest/],
  ['more than a digest', `${DIGEST}0`, 'usage', /not a digest/],
  ['capitals', DIGEST.slice(0, 32).toUpperCase(), 'usage', /not a digest/],
  ['another digest', 'deadbeef'.repeat(4), 'refused', /is not what you saw/],
])('%s is refused', (_, saw, code, message) => {
  const attempt = (): unknown => check(saw);
  expect(attempt).toThrow(message);
  expect(attempt).toThrow(
    expect.objectContaining({ code, hint: expect.stringContaining('countersign show t/1.1') }),
  );
});

const root = scratchDirectory();
const env = (): NodeJS.ProcessEnv => ({ XDG_STATE_HOME: root() });
const file = (): string => join(root(), 'countersign', 'printed.txt');
const one = (callKey: string, seenDigest = 'a'.repeat(64)) => ({ callKey, seenDigest });

it('remembers a request by its call and by all that was shown of it', async () => {
  await notePrinted([one('k:1.1')], env());
  expect(await wasPrinted(one('k:1.1'), env())).toBe(true);
  expect(await wasPrinted(one('k:1.2'), env())).toBe(false);
  expect(await wasPrinted(one('k:1.1', 'b'.repeat(64)), env())).toBe(false);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

it('keeps the newest 500', async () => {
  for (let n = 0; n < 3; n++)
    await notePrinted(
      Array.from({ length: 250 }, (_, at) => one(`${n}:${at}`)),
      env(),
    );
  expect(await wasPrinted(one('0:249'), env())).toBe(false);
  expect(await wasPrinted(one('1:0'), env())).toBe(true);
  expect(readFileSync(file(), 'utf8').split('\n')).toHaveLength(500);
});

it.each(['', '{', 'k:1.1', `k:1.1 ${'b'.repeat(64)}`])(
  'a file that holds %j does not remember it',
  async (content) => {
    mkdirSync(join(root(), 'countersign'), { recursive: true });
    writeFileSync(file(), content);
    expect(await wasPrinted(one('k:1.1'), env())).toBe(false);
    await notePrinted([one('k:1.1')], env());
    expect(await wasPrinted(one('k:1.1'), env())).toBe(true);
  },
);

it('says which file cannot be written', async () => {
  writeFileSync(join(root(), 'countersign'), '');
  await expect(notePrinted([one('k:1.1')], env())).rejects.toMatchObject({
    code: 'file_failed',
    message: expect.stringContaining('printed.txt'),
  });
});
