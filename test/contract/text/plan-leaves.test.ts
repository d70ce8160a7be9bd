import type { FilePlan, Hunk } from '../../../src/contract/plan';
import { leavesOf } from '../../../src/contract/text/json-diff';
import { leavesBeside } from '../../../src/contract/text/plan-leaves';

const hunkOf = (lines: string[], oldStart = 1, newStart = oldStart): Hunk => ({
  ...{ id: '1', oldStart, newStart, lines },
  oldLines: lines.filter((line) => !line.startsWith('+')).length,
  newLines: lines.filter((line) => !line.startsWith('-')).length,
});
const planOf = (...hunks: Hunk[]): FilePlan => ({
  ...{ path: 'a.ts', baseHash: 'x', targetHash: 'y', encoding: 'utf8', hunks },
});

describe('arguments beside a diff', () => {
  const plan = planOf(hunkOf([' keep', '-one two', '+one three', ' end']));
  const args = {
    path: 'a.ts',
    edits: [{ old_text: 'two', new_text: 'three' }],
    note: 'three',
    block: 'one three\nend\n',
    other: 'one three\nelse',
    content: '',
    count: 3,
  };

  it('are shown unless the diff shows them', () => {
    const { own, shown } = leavesBeside(plan, leavesOf(args));
    expect(shown.map(({ path }) => path)).toEqual(['edits.0.old_text', 'edits.0.new_text', 'block']);
    expect(own.map(({ path }) => path)).toEqual(['path', 'note', 'other', 'content', 'count']);
  });

  it.each([
    ['the whole file after it', 'first\n keep\none three\n end\nlast\n'.replaceAll('\n ', '\n'), true],
    ['another file', 'first\nkeep\none four\nend\n', false],
  ])('a content that is %s', (_, content, isShown) => {
    expect(leavesBeside(plan, leavesOf({ content })).shown).toHaveLength(isShown ? 1 : 0);
  });

  it.each([
    ['no plan', undefined],
    ['a plan that shows no lines', { ...plan, targetHash: '' }],
  ])('are all shown with %s', (_, without) => {
    expect(leavesBeside(without, leavesOf(args)).shown).toEqual([]);
  });
});
