import { diffLines, hunkLines, previewLines } from '../../src/history/preview-lines';
import { createStyle } from '../../src/cli/print/screen';
import type { FilePlan } from '../../src/contract/plan';
import { PLAN } from '../support/calls';

const plain = createStyle(false);
const colored = createStyle(true);

describe('a preview', () => {
  it.each<[string, string, string[]]>([
    ['text of a tool', 'pays 10 to ann\n', ['pays 10 to ann']],
    ['a terminal sequence', 'a\x1b[2Jb', ['a\\x1b[2Jb']],
    ['a diff in text', '@@ -1 +1 @@\n-a\n+b\n', ['@@ -1 +1 @@', '-a', '+b']],
  ])('of %s', (_, text, lines) => {
    expect(previewLines({ text }, plain)).toEqual(lines);
  });

  it('of a file plan names the file and numbers each hunk', () => {
    const lines = previewLines({ text: 'not shown', plan: PLAN }, plain);
    expect(lines).not.toContain('not shown');
    expect(lines.slice(0, 2)).toEqual([`--- ${PLAN.path}`, `+++ ${PLAN.path}`]);
    expect(lines.filter((line) => line.startsWith('@@')).map((line) => line.split(' ').at(-1))).toEqual(
      PLAN.hunks.map(({ id }) => id),
    );
  });

  it.each<[string, Partial<FilePlan>, string]>([
    ['a new file', { baseHash: null }, '--- (new file)'],
    ['a file that is not UTF-8', { encoding: 'latin1' }, '(not UTF-8: one character a byte)'],
  ])('says of %s what it is', (_, extra, line) => {
    expect(previewLines({ text: '', plan: { ...PLAN, ...extra } }, plain)).toContain(line);
  });
});

it('paints added and removed lines, and never lets a line paint itself', () => {
  const [removed, added, hostile] = diffLines('-a\n+b\n+\x1b[31mc\n', colored);
  expect(removed).toBe(colored.bad('-a'));
  expect(added).toBe(colored.good('+b'));
  expect(hostile).toContain('\\x1b');
});

it('marks blanks at the end of a changed line', () => {
  const [hunk] = PLAN.hunks;
  if (hunk === undefined) throw new Error('the plan has no hunk');
  expect(hunkLines({ ...hunk, lines: ['+a  '] }, plain).at(-1)).toBe('+a··');
});
