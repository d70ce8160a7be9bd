import { createLispTools } from '../../../src/tools/lisp';
import { makeBox, takeInHand } from '../workspace/support';
import { startProcessorTime } from '../../support/processor-time';

const hands = (files: Record<string, string>) => takeInHand(createLispTools({ root: makeBox(files).root }));

it('says line and position of each match, by characters', async () => {
  const found = await hands({ 'a.lisp': '(a "𝄞")\n(b)\n\n(a (b))\n' }).run('search_in_buffer', {
    buffer: 'a.lisp',
    pattern: '(b)',
  });
  expect(found).toBe(
    [`Found 2 matches for '(b)':`, '', 'Line 2, Position 9: "(b)"', 'Line 4, Position 17: "(b)"'].join('\n'),
  );
});

it('takes time linear in the text, however many matches are behind it', async () => {
  const text = `${'x'.repeat(1_500_000)}${'a'.repeat(501)}`;
  const spent = startProcessorTime();
  const found = await hands({ 'a.lisp': text }).run('search_in_buffer', { buffer: 'a.lisp', pattern: 'a' });
  expect(found).toContain('Line 1, Position 1500500: "a"\n(more than 500; narrow the pattern)');
  expect(spent()).toBeLessThan(15_000);
});

const HEAVY = '(?:x|xx|xxx|.){300}[^x]$';

it.each([
  [
    'passes over a line that is too long for the pattern',
    HEAVY,
    `${'x'.repeat(65_536)}\n`,
    `No matches found for '${HEAVY}'\n(lines too long for such a pattern were passed over: 1)`,
  ],
  [
    'finds in the other lines',
    '^b{1,300}$',
    `${'b'.repeat(100_000)}\r\nbb\r\n`,
    `Found 1 match for '^b{1,300}$':\n\nLine 2, Position 100003: "bb"\n(lines too long for such a pattern were passed over: 1)`,
  ],
])('%s', async (_, pattern, text, said) => {
  const args = { buffer: 'x.txt', regex: true, pattern };
  expect(await hands({ 'x.txt': text }).run('search_in_buffer', args)).toBe(said);
});
