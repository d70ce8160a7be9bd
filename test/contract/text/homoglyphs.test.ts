import { lookAlikesIn } from '../../../src/contract/text/homoglyphs';

const found = (text: string): [piece: string, name: string][] =>
  lookAlikesIn(text).map(({ start, end, name }) => [text.slice(start, end), name]);

describe('what passes for something else', () => {
  it.each<[string, string, [string, string][]]>([
    ['a Cyrillic letter in a Latin word', 'p\u0430ypal', [['\u0430', 'Cyrillic']]],
    ['a Greek letter in a Latin word', 'b\u03bfx', [['\u03bf', 'Greek']]],
    [
      'a whole word of letters that nobody can tell',
      '\u0441\u043e\u0440\u0435',
      [['\u0441\u043e\u0440\u0435', 'Cyrillic']],
    ],
    ['a slash for fractions', 'rm \u2215etc', [['\u2215', 'U+2215']]],
    [
      'a host that is another one on the wire',
      'https://\u0430pple.com/x',
      [['\u0430pple.com', 'xn--pple-43d.com']],
    ],
    [
      'two of them, in their order',
      '\u2215 p\u0430y',
      [
        ['\u2215', 'U+2215'],
        ['\u0430', 'Cyrillic'],
      ],
    ],
  ])('%s', (_case, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('says once what lies within a host', () => {
    expect(found('https://p\u0430y\u2215x.com').filter(([piece]) => piece.includes('\u0430'))).toHaveLength(
      1,
    );
  });
});

describe('what does not', () => {
  it.each([
    ['nothing', ''],
    ['ASCII', 'rm -rf /tmp/*; echo done'],
    ['umlauts', 'gr\u00fc\u00dfe an K\u00f6ln'],
    ['Russian prose', '\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440'],
    ['Japanese beside Latin letters', 'Tokyo \u6771\u4eac'],
    ['a unit with a Greek letter', '5 \u03bcs'],
    ['an ASCII host', 'https://apple.com/'],
  ])('%s', (_case, text) => {
    expect(found(text)).toEqual([]);
  });
});

it('takes time in proportion to the length', () => {
  const text = '\u0430'.repeat(200_000);
  expect(lookAlikesIn(text).length).toBeLessThanOrEqual(1);
});
