import fc from 'fast-check';
import { onOneLine } from '../../../src/tools/workspace/path';

it.each([
  ['src/a b.ts', 'src/a b.ts'],
  ['naïve 📁', 'naïve 📁'],
  ['a\nb', '"a\\nb"'],
  ['a\u0085b', '"a\\u0085b"'],
  ['a\u2028b', '"a\\u2028b"'],
  ['\u202ecod.exe', '"\\u202ecod.exe"'],
  ['x (link)', '"x (link)"'],
  ['(empty)', '"(empty)"'],
  ['  indented', '"  indented"'],
  ['"quoted"', '"\\"quoted\\""'],
])('%j is written as %s', (path, line) => {
  expect(onOneLine(path)).toBe(line);
});

it('is one visible line, and can be told from every other name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (path) => {
      const line = onOneLine(path);
      expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(line.startsWith('"') ? JSON.parse(line) : line).toBe(path);
    }),
  );
});
