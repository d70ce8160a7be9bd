import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { shellWord } from '../../../src/contract/text/shell-word';
import { runs } from '../../support/properties';

const lineOf = (argv: readonly string[]): string => argv.map(shellWord).join(' ');

/** Answers each line with the number of its words and the words; with none where bash cannot read it. */
const SHOW = `show() { printf '%s\\0' "$#" "$@"; }
while IFS= read -r -d '' line; do eval "show $line" || show; done`;

/** One for all lines: to start a process for each takes a hundred times as long. */
const bash = spawn('bash', ['-c', SHOW], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
bash.stdout.setEncoding('utf8');
afterAll(() => bash.kill());

/** What bash makes of a line: its words. */
async function wordsOf(line: string): Promise<string[]> {
  bash.stdin.write(`${line}\0`);
  for (let out = ''; ;) {
    out += String((await once(bash.stdout, 'data'))[0]);
    const [count, ...words] = out.split('\0').slice(0, -1);
    if (words.length === Number(count)) return words;
  }
}

it.each([
  [['npm', 'test'], 'npm test'],
  [['git', 'log', '--format=%H', '-n1', 'a/b.ts:1'], 'git log --format=%H -n1 a/b.ts:1'],
  [['echo', ''], "echo ''"],
  [['echo', '$HOME', '*', '~', ';', '`id`'], "echo '$HOME' '*' '~' ';' '`id`'"],
  [['echo', "it's"], "echo 'it'\\''s'"],
  [['echo', 'a\nrm -rf /'], "echo $'a\\nrm -rf /'"],
  [['echo', '\u001b[2J'], "echo $'\\u001b[2J'"],
  [['echo', 'a\u202eb'], "echo $'a\\u202eb'"],
  [['echo', 'a\u200bb'], "echo $'a\\u200bb'"],
  [['echo', 'a\u00a0b'], "echo $'a\\u00a0b'"],
  [['echo', '\u{e0041}'], "echo $'\\U000e0041'"],
  [['echo', "'\\\n"], "echo $'\\'\\\\\\n'"],
  [['echo', '=ls', 'a=b'], "echo '=ls' a=b"],
  [['echo', 'a!b'], "echo 'a!b'"],
  [['echo', '\n!b'], "echo $'\\n\\x21b'"],
  [['echo', 'a\u2800b'], "echo $'a\\u2800b'"],
  [['echo', 'naïve 📁'], "echo 'naïve 📁'"],
  [['rm', '/data/\u05d0/2024/2019'], "rm $'/data/\\u05d0/2024/2019'"],
  [['pay', '\u0661-\u0662'], "pay $'\\u0661-\\u0662'"],
])('%j is shown as %s', async (argv, line) => {
  expect(lineOf(argv)).toBe(line);
  expect(await wordsOf(line)).toEqual(argv);
});

it('reads back to exactly the same words', async () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', '\u0085', '\u202e', ' ', 'a', '7', '=', '!'),
    }),
  );
  const argv = fc.array(
    word.map((text) => text.replaceAll('\0', '')),
    { minLength: 1, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(argv, async (words) => {
      const line = lineOf(words);
      expect(await wordsOf(line)).toEqual(words);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
    { numRuns: runs(200) },
  );
});
