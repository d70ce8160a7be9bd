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
