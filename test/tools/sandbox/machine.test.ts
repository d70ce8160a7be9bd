import { limitsSchema } from '../../../src/tools/sandbox/limits';
import { seatbeltWords } from '../../../src/tools/sandbox/machine';

const plan = {
  mounts: [
    { path: '/Users/me/site', isWritable: true },
    { path: '/Users/me/site/data', isWritable: false },
  ],
  tmp: '/private/var/folders/x/countersign-sandbox-1',
  runtime: ['/Users/me/.nvm/node'],
};

const enforced = new Set(['cpu', 'processes', 'openFiles', 'fileSize'] as const);
const wordsOf = (of: Partial<typeof plan>): string[] =>
  seatbeltWords({ ...plan, ...of, limits: limitsSchema.parse({}), enforced }, ['echo', '$(id)']);
const profileOf = (of: Partial<typeof plan> = {}): string => wordsOf(of)[2] ?? '';

/** Lists whose brackets close, and nothing outside of them. */
const isBalanced = (profile: string): boolean => {
  const bare = profile.replace(/"(?:[^"\\]|\\.)*"/g, 'x');
  let depth = 0;
  for (const letter of bare) {
    if (letter === '(') depth++;
    if (letter === ')') depth--;
    if (depth < 0 || (depth === 0 && !/[\s()]/.test(letter))) return false;
  }
  return depth === 0;
};

it('denies what it does not name, and every network', () => {
  const lines = profileOf().trim().split('\n');
  expect(lines.slice(0, 2)).toEqual(['(version 1)', '(deny default)']);
  expect(lines.at(-1)).toBe('(deny network*)');
  expect(isBalanced(lines.join('\n'))).toBe(true);
  expect(lines.filter((line) => /network/.test(line))).toEqual(['(deny network*)']);
});

it('lets nothing write but the folders for it, the inner rule after the outer one', () => {
  const writes = profileOf()
    .split('\n')
    .filter((line) => line.includes('file-write*'));
  expect(writes).toEqual([
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero"))',
    '(allow file-write* (subpath "/private/var/folders/x/countersign-sandbox-1"))',
    '(allow file-write* (subpath "/Users/me/site"))',
    '(deny file-write* (subpath "/Users/me/site/data"))',
  ]);
});

it('lets nothing read a home, only what is listed in it', () => {
  const read = profileOf()
    .split('\n')
    .filter((line) => line.startsWith('(allow file-read*'))
    .join('\n');
  expect(read).toContain('(subpath "/Users/me/site")');
  expect(read).toContain('(subpath "/Users/me/.nvm/node")');
  expect(read).not.toMatch(
    /\((subpath|literal) "\/(Users|Users\/me|private\/var|private\/etc|)"\)(?<!literal "\/"\))/,
  );
});

it.each(['/a"b', '/a\\', '/a") (allow default) (literal "', '/a)(allow default)'])(
  'keeps %j a path',
  (path) => {
    const profile = profileOf({ mounts: [{ path, isWritable: true }] });
    expect(isBalanced(profile)).toBe(true);
    const bare = profile.replace(/"(?:[^"\\]|\\.)*"/g, 'x');
    expect(bare).not.toContain('allow default');
  },
);

it('gives the program its words, with the limits that macOS has', () => {
  const words = wordsOf({});
  expect(words.slice(0, 2)).toEqual(['/usr/bin/sandbox-exec', '-p']);
  expect(words.slice(3)).toEqual([
    '/bin/sh',
    '-c',
    'ulimit -t 60 && ulimit -u 128 && ulimit -n 1024 && ulimit -f 524288 && ulimit -c 0 && exec "$@"',
    'sh',
    'echo',
    '$(id)',
  ]);
});
