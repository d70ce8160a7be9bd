import fc from 'fast-check';
import { segments } from '../../../src/contract/visible';
import { blocksOf } from '../../../src/web/model/blocks';

const textOf = (blocks: ReturnType<typeof blocksOf>): string =>
  blocks
    .flat()
    .map((piece) => (piece.kind === 'text' ? piece.text : piece.original))
    .join('');
const sizes = (text: string): number[] =>
  blocksOf(segments(text, 'block')).map((block) => textOf([block]).length);

it('keeps a short text in one block', () => {
  expect(sizes('ls -la\n')).toEqual([7]);
});

it('has one block, to be seen, for no text', () => {
  expect(blocksOf([])).toEqual([[]]);
});

it('cuts by lines', () => {
  expect(sizes('x\n'.repeat(40))).toEqual([32, 32, 16]);
});

it('cuts a line that is longer than a screen', () => {
  expect(sizes('x'.repeat(3_000))).toEqual([1_200, 1_200, 600]);
});

it('loses nothing and breaks no character and no mark', () => {
  const char = fc.constantFrom('a', '\n', '\u202e', '\u200b', '😀', ' ', '\t', '\x1b', 'а');
  fc.assert(
    fc.property(fc.array(char, { maxLength: 4_000 }), (chars) => {
      const text = chars.join('');
      const blocks = blocksOf(segments(text, 'block'));
      expect(textOf(blocks)).toBe(text);
      for (const block of blocks) expect(textOf([block])).not.toMatch(/\p{Cs}/u);
    }),
  );
});
