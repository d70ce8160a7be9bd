import { cut, widthOf, wrap } from '../../../src/cli/print/width';

describe('the width of text', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['ü', 1],
    ['東京', 4],
    ['🎉', 2],
    ['e\u0301', 1],
    ['\x1b[31mred\x1b[39m', 3],
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
    ['everything in one line', Infinity, ['everything in one line']],
  ])('%j in %d columns', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines);
  });

  it('loses nothing', () => {
    const text = 'the quick  brown fox jumpsoverthelazydogwithoutlooking twice';
    expect(wrap(text, 12).join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
  });
});
