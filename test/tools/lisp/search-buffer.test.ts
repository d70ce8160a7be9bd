import { createLispTools } from '../../../src/tools/lisp';
import { makeBox, takeInHand } from '../workspace/support';

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
  const since = performance.now();
  const found = await hands({ 'a.lisp': text }).run('search_in_buffer', { buffer: 'a.lisp', pattern: 'a' });
  expect(found).toContain('Line 1, Position 1500500: "a"\n(more than 500; narrow the pattern)');
  expect(performance.now() - since).toBeLessThan(15_000);
});
