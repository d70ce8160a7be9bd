import { editText, insertLine } from '../../../src/tools/workspace/edit-text';
import { workspaceBench } from './bench';

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
  expect(() => replace('a'.repeat(1_000_000), 'a', 'b'.repeat(1000), true)).toThrow(
    /would grow to 1000000000/,
  );
});

describe('on real files', () => {
  const bench = workspaceBench();

  it.each([
    ['edit_file', { edits: [{ old_text: 'A', new_text: 'B' }] }],
    ['write_file', { content: 'B' }],
    ['insert_at_line', { line: 1, text: 'B' }],
    ['propose_file_edit', { new_content: 'B' }],
  ])('%s refuses a binary file', async (tool, args) => {
    bench.put('a.bin', Buffer.from([65, 0, 66]));
    await expect(bench.preview(tool, { path: 'a.bin', ...args })).rejects.toThrow(/binary/);
  });

  it('does not take bytes that are no UTF-8 for the mark that stands for them', async () => {
    const base = `k\ufffd\n${'x\n'.repeat(10)}end\n`;
    bench.put('a.txt', base);
    const args = { path: 'a.txt', new_content: `K\n${base.replace('end', 'END')}` };
    const plan = await bench.plan('propose_file_edit', args);
    const foreign = Buffer.from(base.replace('end', 'END'))
      .toString('latin1')
      .replace('\u00ef\u00bf\u00bd', '\u00ff');
    bench.put('a.txt', Buffer.from(foreign, 'latin1'));
    const before = bench.bytes('a.txt');
    await expect(bench.handle('propose_file_edit', args, { plan, hunks: ['2'] })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(bench.bytes('a.txt')).toEqual(before);
  });
});
