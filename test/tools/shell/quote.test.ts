import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { quoteCommand } from '../../../src/tools/shell/quote';

/** What bash makes of a line: its words. */
function wordsOf(line: string): string[] {
  const options = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } } as const;
  const out = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], options);
  return out.split('\0').slice(0, -1);
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
  [['echo', 'naïve 📁'], "echo 'naïve 📁'"],
])('%j is shown as %s', (argv, line) => {
  expect(quoteCommand(argv)).toBe(line);
  expect(wordsOf(line)).toEqual(argv);
});

it('reads back to exactly the same words', () => {
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
  fc.assert(
    fc.property(argv, (words) => {
      const line = quoteCommand(words);
      expect(wordsOf(line)).toEqual(words);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
    { numRuns: 200 },
  );
});
