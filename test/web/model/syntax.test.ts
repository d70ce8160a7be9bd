import { numbered } from '../../../src/web/model/diff';
import { syntaxOf } from '../../../src/web/model/syntax';

const looksOf = (path: string, lines: string[], from = 0): string[][] => {
  const all = numbered({ id: '1', oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines });
  const found = syntaxOf(path, all, { from, to: all.length });
  return lines
    .slice(from)
    .map((line, index) =>
      (found.get(from + index) ?? []).map(
        ({ from: at, to, look }) => `${line.slice(at, to)} ${look.slice(4)}`,
      ),
    );
};

it.each([
  ['a.ts', "+const a = 'x'; // why", ['const word', "'x' text", '// why comment']],
  ['src/Dockerfile', '+FROM node', ['FROM word']],
  ['x/a.JSON', '+{"a": true}', ['"a" name', 'true value']],
  ['a.py', '+def go(): return 1', ['def word', 'go name', 'return word', '1 value']],
  ['a.unknown', '+const a = 1', []],
  ['js', '+const a', ['const word']],
])('%s: %s', (path, line, looks) => {
  expect(looksOf(path, [line])).toEqual([expect.arrayContaining(looks)]);
  if (looks.length === 0) expect(looksOf(path, [line])).toEqual([[]]);
});

it('reads what stands before, so that a comment goes on, and each side on its own', () => {
  expect(looksOf('a.ts', [' /* one', '-two */ let a', '+two', ' three */ let b'], 1)).toEqual([
    ['two */ comment', 'let word'],
    ['two comment'],
    ['three */ comment', 'let word'],
  ]);
});

it('leaves what is too long as it is', () => {
  expect(looksOf('a.ts', ['+const a', `+${'x'.repeat(500)}`])).toEqual([[], []]);
  expect(looksOf('a.ts', ['+const a', `+${' '.repeat(90)}x`])).toEqual([[], []]);
});

it('takes no more than a moment for hostile lines', () => {
  const parts = ['a', ' ', '/', '"', '`', '${', '=', '(', '*', 'a'.repeat(70), ' '.repeat(59)];
  const slow: string[] = [];
  for (const ending of ['ts', 'py', 'css', 'xml', 'yaml', 'sh', 'c', 'sql']) {
    for (const text of parts.flatMap((one) => parts.map((other) => one + other))) {
      const line = `+${text.repeat(Math.max(1, Math.floor(290 / text.length)))}`;
      const before = process.cpuUsage().user;
      looksOf(
        `a.${ending}`,
        Array.from({ length: 8 }, () => line),
      );
      const ms = (process.cpuUsage().user - before) / 1000;
      if (ms > 200) slow.push(`${ending} ${JSON.stringify(text.slice(0, 20))} ${Math.round(ms)} ms`);
    }
  }
  expect(slow).toEqual([]);
});
