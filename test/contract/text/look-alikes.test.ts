import { codePointOf, lookAlikesIn } from '../../../src/contract/text/look-alikes';

const found = (text: string): [piece: string, name: string][] =>
  lookAlikesIn(text).map(({ start, end, name }) => [text.slice(start, end), name]);

describe('what passes for something else', () => {
  it.each<[string, string, [string, string][]]>([
    [
      'two of them, in their order',
      '\u2215 p\u0430y',
      [
        ['\u2215', 'U+2215'],
        ['\u0430', 'Cyrillic'],
      ],
    ],
    ['a letter of a script that Unicode got later', 'a\u{105c0}', [['\u{105c0}', 'U+105C0']]],
    [
      'a dash where an option begins',
      'rm \u2014\u2014force',
      [...'\u2014\u2014'].map((dash) => [dash, 'U+2014']),
    ],
    ['an apostrophe in a path', 'o\u2019brien/x', [['\u2019', 'U+2019']]],
    ['a wide sign far from a letter of East Asia', 'ls\uff1brm\uff1b\u5b57', [['\uff1b', 'U+FF1B']]],
    ['several letters of no other script', '\uff52\uff4d', [['\uff52\uff4d', 'not ASCII']]],
  ])('%s', (_case, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('says once what lies within a host', () => {
    expect(found('https://p\u0430y\u2215x.com').filter(([piece]) => piece.includes('\u0430'))).toHaveLength(
      1,
    );
  });
});

it('a character has a code, also where it is half of one', () => {
  expect(codePointOf('\ud800')).toBe('U+D800');
});

it.each([
  '\u0430',
  '\u0430\u03c9',
  'a\u0430\u00e9',
  '\u2019',
  'a\u2019',
  '\u2013',
  '\uff0c\u5b57',
  '\u00e9\u2215',
])('takes time in proportion to the length of %j', (unit) => {
  // Quadratic time would take minutes, and the test would time out.
  expect(lookAlikesIn(unit.repeat(100_000)).length).toBeLessThanOrEqual(200_000);
});
