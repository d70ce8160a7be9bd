import { type Block, readMarkdown, type Span } from '../../../src/web/model/markdown';

const said = (spans: readonly Span[]): string =>
  spans.map(({ look, text }) => (look === 'plain' ? text : `<${look}>${text}</>`)).join('');
const shown = (block: Block): string => {
  if (block.kind === 'code') return `[code]${block.text}`;
  return block.kind === 'text' ? said(block.spans) : `[list]${block.items.map(said).join('|')}`;
};

test.each<[string, string, string[]]>([
  ['words', 'Paid.\nDone.', ['Paid.\nDone.']],
  ['bold words', 'It is **33.00 EUR** now', ['It is <bold>33.00 EUR</> now']],
  ['code in a line', 'run `ls -la`', ['run <code>ls -la</>']],
  ['a list', 'These:\n- one\n- **two**\nand on', ['These:', '[list]- one|- <bold>two</>', 'and on']],
  ['a numbered list', '1. one\n2. two', ['[list]1. one|2. two']],
  ['a block of code', 'a\n```ts\nconst **x**\n- y\n```\nb', ['a', '[code]const **x**\n- y', 'b']],
  ['a block that does not end', '```\nx', ['```\nx']],
  ['a link, which stays what it is', '[bank](https://evil.example)', ['[bank](https://evil.example)']],
  ['a picture', '![x](https://evil.example/p.png)', ['![x](https://evil.example/p.png)']],
  ['stars that mark nothing', '2 ** 3 ** 4 and **', ['2 ** 3 ** 4 and **']],
  ['markup', '<b>**x**</b>', ['<b><bold>x</></b>']],
])('%s', (_, words, blocks) => {
  expect(readMarkdown(words).map(shown)).toEqual(blocks);
});
