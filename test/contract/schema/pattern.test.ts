import fc from 'fast-check';
import { compilePattern, isRegularExpression } from '../../../src/contract/schema/pattern';
import { runs } from '../../support/properties';

it.each<[string, string[]]>([
  ['^\\u0041\\x42\\u{1F600}\\uD83D\\uDE00\\cA\\0$', ['AB😀😀\u0001\0', 'AB😀']],
  ['^(?<year>\\d{4})\\/[\\w\\-]+$', ['2026/a-b', '2026/', '26/a']],
  ['^\\p{L}+\\P{Nd}$', ['straße!', 'a1', '1']],
  ['^[^]$', ['\n', '', '😀', '\ud800']],
  ['^.$', ['😀', '\n', '\u2028', '\ud800']],
  ['\\bfoo\\b|\\Bbar', ['a foo b', 'afoo', 'abar', 'bar', '']],
  ['^(?:a|ab|)(c|bcd)?d*$', ['', 'abcd', 'acd', 'abbcdd', 'x']],
  ['a{2}b{1,}c{0,2}d{0}$', ['aab', 'aabbcc', 'ab', 'aabccc', 'aabd']],
  ['(a*)*b|(|x)+y', ['aaab', 'y', 'xxy', 'aaa']],
  ['[\\]\\-a]\\.\\*', [']..*', '-.*', 'a.*', 'b.*']],
  ['x*', ['', 'yyy']],
  ['$^', ['', 'a']],
])('matches %s as JavaScript does', (pattern, texts) => {
  const native = new RegExp(pattern, 'u');
  expect(texts.map((text) => compilePattern(pattern)(text))).toEqual(texts.map((text) => native.test(text)));
});

const pattern: fc.Arbitrary<string> = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('a', 'b', '.', '\\d', '[ab]', '[^a]', '\\b', '^', '$', ' ', '\\s', ''),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,}', '*?'))
      .map(([a, sign]) => `(${a})${sign}`),
  ),
})).pattern;

it('matches any pattern as JavaScript does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '\n', 'é'), maxLength: 8 });
  fc.assert(
    fc.property(pattern, text, (source, given) => {
      expect(compilePattern(source)(given)).toBe(new RegExp(source, 'u').test(given));
    }),
    { numRuns: runs(3000) },
  );
});

it.each<[string, string, RegExp]>([
  ['characters', 'a'.repeat(20_001), /more than 20000 characters/],
  ['Unicode properties', '[^\\p{L}\\P{M}]'.repeat(101), /more than 200 Unicode properties/],
  ['Unicode properties in one class', `[${'\\p{L}'.repeat(201)}]`, /more than 200 Unicode properties/],
  ['repetitions of nothing', '(?:){9999999}', /too many repetitions/],
  ['repetitions of repetitions of nothing', '(?:(?:){9999999}){9999999}', /too many repetitions/],
])('refuses a pattern of too many %s before it takes long', (_case, source, why) => {
  expect(() => compilePattern(source)).toThrow(why);
});

it.each<[string, boolean]>([
  ['^a+$', true],
  ['(?=a)', true],
  ['(', false],
  ['\\p{L}'.repeat(200), true],
  ['\\p{L}'.repeat(201), false],
])('knows a regular expression: %#', (text, expected) => {
  expect(isRegularExpression(text)).toBe(expected);
});

it.each([
  '(?=a)',
  '(?!a)',
  '(?<!a)b',
  '(?<=a)b',
  '(a)\\1',
  '(?<n>a)\\k<n>',
  '(?:a{100}){100}',
  'a{9999999}',
  '(',
])('refuses %s', (source) => {
  expect(() => compilePattern(source)).toThrow();
});

it.each(['^(\\w+\\s?)*$', '(a*)*b', '\\w*\\w*\\w*!', '^(a|aa)+$', '(x+x+)+y'])(
  'does work that grows with the text: %s',
  (source) => {
    const workOf = (length: number): number => {
      let sum = 0;
      compilePattern(source)(`${'a'.repeat(length)}-`, (work) => (sum += work));
      return sum;
    };
    expect(workOf(20_000)).toBeLessThanOrEqual(2.1 * workOf(10_000));
  },
);
