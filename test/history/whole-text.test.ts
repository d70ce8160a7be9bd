import { wholeText } from '../../src/history/whole-text';
import { proposal, request } from '../cli/support';

const SMALL = { characters: 30, lines: 2, indent: 0 };

it('shows as much as there is room for, and says where it is cut', () => {
  expect(wholeText(request(), SMALL)).toEqual({ lines: ['{"amount":10,"to":"ann"}'], isWhole: true });
  const long = wholeText(request({ arguments: { to: 'x'.repeat(40) } }), SMALL);
  expect(long).toEqual({ lines: [`{"to":"${'x'.repeat(23)}`, '… (cut)'], isWhole: false });
  expect(wholeText(request({ preview: { text: 'pays' } }), SMALL).isWhole).toBe(false);
});

it('shows the hunks of a plan that has some, as every screen does, and not the text beside them', () => {
  const { lines } = wholeText(proposal(), { characters: 2_000, lines: 30, indent: 0 });
  expect(lines).toEqual(expect.arrayContaining(['arguments:', expect.stringMatching(/^@@ .* hunk 1$/)]));
  expect(lines).not.toContain('diff');
});
