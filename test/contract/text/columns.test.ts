import { cut, widthOf, wrap } from '../../../src/contract/text/columns';

describe('the width of text', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['ü', 1],
    ['東京', 4],
    ['🎉', 2],
    ['e\u0301', 1],
    ['\x1b[31mred\x1b[39m', 3],
    // A family, a flag, a skin tone, a text character shown as emoji, a keycap; then letters of several code points.
    ['👨‍👩‍👧‍👦', 2],
    ['🇩🇪', 2],
    ['🇩🇪🇫🇷', 4],
    ['👍🏽', 2],
    ['❤️', 2],
    ['❤', 1],
    ['1️⃣', 2],
    ['\u1112\u1161\u11ab', 2],
    ['नि', 2],
    ['กำ', 2],
  ])('of %j is %d', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });
});

describe('cutting', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['東京都', 5, '東京…'],
    ['東京都', 4, '東…'],
    ['a🎉b', 3, 'a…'],
    ['👨‍👩‍👧‍👦👨‍👩‍👧‍👦', 3, '👨‍👩‍👧‍👦…'],
  ])('%j to %d is %j', (text, width, expected) => {
    expect(cut(text, width)).toBe(expected);
    expect(widthOf(cut(text, width))).toBeLessThanOrEqual(width);
  });
});

describe('wrapping', () => {
  it.each<[string, number, string[]]>([
    ['short', 20, ['short']],
    ['one two three four', 10, ['one two', 'three four']],
    ['abcdefghijklmnop', 10, ['abcdefghij', 'klmnop']],
    ['ab abcdefghijklmnop cd', 10, ['ab', 'abcdefghij', 'klmnop cd']],
    ['no room at all', 1, ['no room at', 'all']],
    ['', 10, ['']],
    ['🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪', 10, ['🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪', '🇩🇪']],
    ['\u212a e\u0301', 10, ['\u212a e\u0301']],
    ['everything in one line', Infinity, ['everything in one line']],
  ])('%j in %d columns', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines);
  });

  it('loses nothing', () => {
    const text = 'the quick  brown fox jumpsoverthelazydogwithoutlooking twice';
    expect(wrap(text, 12).join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
  });
});
