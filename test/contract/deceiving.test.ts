import { deceivingIn } from '../../src/contract/deceiving';

it.each([
  ['plain text', { a: 'ls -la\n\tx' }, undefined, { hidden: 0, alike: 0 }],
  ['values', { a: 'x\u202ey', b: ['\u200b'] }, undefined, { hidden: 2, alike: 0 }],
  ['names', { 'a\u200b': 1 }, undefined, { hidden: 1, alike: 0 }],
  ['the preview', {}, 'a\x1b[8m', { hidden: 1, alike: 0 }],
  ['letters that pass for others', { host: 'exаmple.com' }, undefined, { hidden: 0, alike: 1 }],
])('counts in %s', (_, args, text, counts) => {
  const preview = text === undefined ? {} : { preview: { text } };
  expect(deceivingIn({ arguments: args, ...preview })).toEqual(counts);
});

it('counts in the hunks of a plan, not again in its text', () => {
  const hunk = { id: '1', oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: ['+a\u200b'] };
  const file = { path: 'a.txt', baseHash: null, encoding: 'utf8' as const, hunks: [hunk] };
  const shown = { arguments: {}, preview: { text: '+a\u200b', plan: { ...file, targetHash: 'x' } } };
  expect(deceivingIn(shown)).toEqual({ hidden: 1, alike: 0 });
  const moved = { ...shown.preview.plan, targetHash: '', hunks: [] };
  expect(deceivingIn({ ...shown, preview: { text: 'b\u202e', plan: moved } })).toEqual({
    hidden: 1,
    alike: 0,
  });
});
