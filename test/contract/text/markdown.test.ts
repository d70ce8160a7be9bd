import { plainMarkdown } from '../../../src/contract/text/markdown';

it.each([
  ['[Approve here](https://evil.example)', '\\[Approve here\\](https://evil.example)'],
  ['![a](b)', '!\\[a\\](b)'],
  ['<img src=x> `code` **bold** _soft_', '\\<img src=x> \\`code\\` \\*\\*bold\\*\\* \\_soft\\_'],
  ['a\\[b](c)', 'a\\\\\\[b\\](c)'],
  ['one\n\n# two', 'one # two'],
  ['1.2 write_file src/a_b.ts, 2 hunks', '1.2 write_file src/a_b.ts, 2 hunks'],
])('%j becomes %j', (text, expected) => {
  expect(plainMarkdown(text)).toBe(expected);
});
