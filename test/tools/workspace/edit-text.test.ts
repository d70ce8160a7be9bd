import { editText, insertLine } from '../../../src/tools/workspace/edit-text';

const utf8 = { path: 'a.txt', encoding: 'utf8' } as const;
const insert = (base: string, line: number, text: string): string =>
  insertLine({ ...utf8, base, line, text });
const replace = (base: string, old_text: string, new_text: string, replace_all = false): string =>
  editText({ ...utf8, base, edits: [{ old_text, new_text }], replace_all });

it.each([
  ['\ufeffone\n', 1, 'zero', '\ufeffzero\none\n'],
  ['\ufeffone\n', 2, 'two', '\ufeffone\ntwo\n'],
  ['\ufeff', 1, 'one', '\ufeffone\n'],
  ['', 1, 'one', 'one\n'],
  ['one', 2, 'two', 'one\ntwo\n'],
  ['a\r\nb\r\n', 2, 'x\ny', 'a\r\nx\r\ny\r\nb\r\n'],
  ['a\r\nb\n', 3, 'c', 'a\r\nb\nc\n'],
])('into %j at line %d', (base, line, text, target) => {
  expect(insert(base, line, text)).toBe(target);
});

it('replaces literally, whatever the new text looks like', () => {
  expect(replace('a b', 'b', "$&$1$`$'$$")).toBe("a $&$1$`$'$$");
});

it('takes places that overlap for more than one', () => {
  expect(() => replace('aaa', 'aa', 'b')).toThrow(/more than once/);
});

it('does not let a file grow beyond what can be read again', () => {
  expect(() => replace('a'.repeat(100_000), 'a', 'b'.repeat(10_000), true)).toThrow(
    /would grow to 1000000000/,
  );
});

describe('the edits of one call', () => {
  const MIB = 1024 * 1024;
  const swaps = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? { old_text: 'ab', new_text: 'ba' } : { old_text: 'ba', new_text: 'ab' },
    );
  const textOf = (length: number): string => `ab${'-'.repeat(length - 2)}`;
  const edit = (base: string, count: number, replace_all = true): string =>
    editText({ ...utf8, base, edits: swaps(count), replace_all });

  it.each([
    ['as many as 64 MiB of text allow', textOf(MIB), 64],
    ['one, of any text', textOf(65 * MIB), 1],
    ['as many pieces as are replaced at most', 'ab'.repeat(100_000), 2],
  ])('are made: %s', (_, base, count) => {
    expect(edit(base, count).length).toBe(base.length);
    expect(edit(base, count).startsWith(count % 2 === 0 ? 'ab' : 'ba')).toBe(true);
  });

  it.each([
    ['go through more than 67108864 characters', textOf(MIB), 65, true],
    ['go through more than 67108864 characters', textOf(MIB), 65, false],
    ['go through more than 67108864 characters', textOf(65 * MIB), 2, true],
    ['replace more than 200000 pieces of text', 'ab'.repeat(200_001), 1, true],
    ['replace more than 200000 pieces of text', 'ab'.repeat(100_001), 2, true],
  ])('are refused if they would %s', (what, base, count, replace_all) => {
    expect(() => edit(base, count, replace_all)).toThrow(
      `The edits of this call would ${what}; nothing was changed. Make fewer edits in one call, or give longer pieces of text.`,
    );
  });
});

it.each<[string, string, string, string, string, boolean?]>([
  ['mixed ends', 'one\r\ntwo\nthree\r\n', 'one\ntwo', 'ONE\ntwo', 'ONE\r\ntwo\nthree\r\n'],
  ['a line between lines that stay', 'a\r\nb\nc\r\n', 'a\nb\nc', 'a\nx\nb\nc', 'a\r\nx\r\nb\nc\r\n'],
  ['lone CR', 'one\rtwo\rthree', 'one\ntwo', 'one\nTWO', 'one\rTWO\rthree'],
  ['CRLF in the edit only', 'a\nb\n', 'a\r\nb', 'a\r\nc', 'a\nc\n'],
  ['CRLF in the file only', 'a\r\nb\r\nc\r\n', 'a\nb', 'a\nx\ny\nb', 'a\r\nx\r\ny\r\nb\r\nc\r\n'],
  ['every place', 'a\nb\r\na\r\nb\ra\rb', 'a\nb', 'X\nb', 'X\nb\r\nX\r\nb\rX\rb', true],
  ['an end that the edit is about', 'a\r\nb\n', 'a\r\n', 'a\n', 'a\nb\n'],
  ['the one exact place', 'a\r\nb\na\nb\n', 'a\nb', 'c', 'a\r\nb\nc\n'],
])('line ends match in any spelling, and stay: %s', (_, base, old_text, new_text, target, all = false) => {
  expect(replace(base, old_text, new_text, all)).toBe(target);
});

it.each([
  ['\ufeffone\n', '\ufeffone', '\ufefftwo', '\ufefftwo\n'],
  ['one\n', '\ufeffone', 'two', 'two\n'],
  ['\ufeffone\n', 'one', '\ufefftwo', '\ufefftwo\n'],
])('in %j the mark of an editor does not count in %j', (base, old_text, new_text, target) => {
  expect(replace(base, old_text, new_text)).toBe(target);
  expect(insert('a\n', 1, '\ufeffb')).toBe('b\na\n');
});

it.each([
  [
    'in white space',
    'if (a) {\n\treturn b;\n}\n',
    'if (a) {\n  return b;\n}',
    /1: if \(a\) \{\n2: \treturn b;\n3: \}\nLine 2 differs in white space\.$/,
  ],
  ['in case', 'Hello World\n', 'hello world', /1: Hello World\nLine 1 differs in upper and lower case\.$/],
  ['in quotation marks', 'say \u201chi\u201d\n', 'say "hi"', /differs in quotation marks or dashes\.$/],
  ['in the form of letters', 'caf\u00e9\n', 'cafe\u0301', /differs in the Unicode form of its letters\.$/],
  [
    'in a word',
    'one two three four\nx\n',
    'one two 3 four',
    /1: one two three four\nLine 1 differs from "one two 3 four"\.$/,
  ],
  [
    'in one line of several',
    'foo bar\nbaz\nqux\n',
    'foo bar\nbaz2\nqux',
    /2: baz\n3: qux\nLine 2 differs from "baz2"\.$/,
  ],
])('shows the lines that are nearest, and that they differ %s', (_, base, old_text, message) => {
  expect(() => replace(base, old_text, 'z')).toThrow(message);
});

it('shows no lines where none is near', () => {
  expect(() => replace('x\ny\n', 'nothing like it', 'z')).toThrow(/Read the file again\.$/);
});
