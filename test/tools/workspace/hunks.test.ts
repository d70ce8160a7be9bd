import fc from 'fast-check';
import {
  applyHunks,
  HunkMismatch,
  makeHunks,
  renderDiff,
  reverseHunks,
} from '../../../src/tools/workspace/hunks';
import { runs } from '../../support/properties';

/** Few different lines, so that texts share some; every line end there is, and ends without one. */
const text = fc
  .array(
    fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'a\r\n', 'b\r', '-x\n', '+y\n', '\\ z\n', 'é\u2028\n', ' \n'),
    {
      maxLength: 40,
    },
  )
  .chain((lines) => fc.constantFrom('', 'end', '\r', 'a').map((end) => lines.join('') + end));

/** A text of many lines and one made of it by a few changes, so that there are several hunks. */
const changed = fc
  .tuple(
    fc.integer({ min: 20, max: 90 }),
    fc.array(fc.tuple(fc.nat(99), fc.constantFrom('', 'new\n', 'two\nlines\n')), { maxLength: 8 }),
  )
  .map(([count, changes]) => {
    const lines = Array.from({ length: count }, (_, index) => `line ${index % 7}\n`);
    const target = [...lines];
    for (const [at, line] of changes) if (at < count) target[at] = line;
    return { base: lines.join(''), target: target.join('') };
  });

describe('hunks', () => {
  it('lead from any text to any other, and back', () => {
    fc.assert(
      fc.property(text, text, (base, target) => {
        const hunks = makeHunks(base, target);
        expect(applyHunks(base, hunks)).toBe(target);
        expect(reverseHunks(target, hunks)).toBe(base);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('can be taken by any part, and that part be taken back', () => {
    fc.assert(
      fc.property(
        changed,
        fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
        ({ base, target }, picks) => {
          const hunks = makeHunks(base, target);
          const kept = hunks.filter((_, index) => picks[index % picks.length]);
          const now = applyHunks(base, kept);
          expect(reverseHunks(now, kept)).toBe(base);
          const rest = hunks.filter((hunk) => !kept.includes(hunk));
          expect(rest.length === 0 ? now : base).toBe(rest.length === 0 ? target : reverseHunks(now, kept));
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('have ids from 1 in the order of the file', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `${index}\n`);
    const target = lines.map((line, index) => ([3, 20, 38].includes(index) ? `new ${line}` : line));
    const hunks = makeHunks(lines.join(''), target.join(''));
    expect(hunks.map(({ id, oldStart }) => [id, oldStart])).toEqual([
      ['1', 1],
      ['2', 18],
      ['3', 36],
    ]);
  });

  it.each([
    ['another line', 'x\nb\n'],
    ['a line less', ''],
    ['a line end more', 'a\n'],
    ['another line end', 'a\r\nb'],
  ])('do not apply to %s', (_, other) => {
    const hunks = makeHunks('a\nb', 'a\nc');
    expect(() => applyHunks(other, hunks)).toThrow(HunkMismatch);
  });

  it('are one where texts have too little in common, context and missing line ends kept', () => {
    const same = 'one\ntwo\nthree\nfour\n';
    const base = same + Array.from({ length: 6000 }, (_, index) => `old ${index}\n`).join('') + same;
    const target = same + Array.from({ length: 6000 }, (_, index) => `new ${index}\n`).join('') + same;
    const hunks = makeHunks(base, `${target}end`);
    expect(hunks).toHaveLength(1);
    expect(hunks[0]).toMatchObject({ oldStart: 2, newStart: 2 });
    expect(applyHunks(base, hunks)).toBe(`${target}end`);
    expect(reverseHunks(`${target}end`, hunks)).toBe(base);
  });

  it.each([
    ['the first line', 0],
    ['a line near the beginning', 2],
    ['a line near the end', 399_990],
    ['the last line', 399_999],
  ])('name %s of a file of many lines by its number', (_, at) => {
    const lines = Array.from({ length: 400_000 }, (_, index) => `${index}\n`);
    const base = lines.join('');
    const target = lines.map((line, index) => (index === at ? 'new\n' : line)).join('');
    const hunks = makeHunks(base, target);
    const start = Math.max(1, at - 2);
    expect(hunks).toMatchObject([{ id: '1', oldStart: start, newStart: start }]);
    expect(hunks[0]?.lines.filter((line) => !line.startsWith(' '))).toEqual([`-${at}`, '+new']);
    expect(applyHunks(base, hunks) === target).toBe(true);
    expect(reverseHunks(target, hunks) === base).toBe(true);
  });

  it.each([
    ['old lines', 'x\n'.repeat(100_001), 'y\n', '100001 old and 1 new lines'],
    ['new lines', '', 'x\n'.repeat(100_001), '0 old and 100001 new lines'],
    [
      'lines between two changes',
      `a\n${'x\n'.repeat(100_000)}b\n`,
      `c\n${'x\n'.repeat(100_000)}d\n`,
      '100002 old and 100002 new lines',
    ],
  ])('are not made of too many %s', (_, base, target, counts) => {
    expect(() => makeHunks(base, target)).toThrow(
      `This change is too large to be shown: from its first to its last changed line there are ${counts}, and at most 100000 are compared. Nothing was changed.`,
    );
  });

  it('are made of as many lines as are compared', () => {
    const base = `a\n${'x\n'.repeat(99_998)}b\n`;
    const hunks = makeHunks(base, `c${base.slice(1, -2)}d\n`);
    expect(hunks.map(({ oldStart }) => oldStart)).toEqual([1, 99_997]);
  });

  it('hold files of many lines', () => {
    const base = 'x\n'.repeat(400_000);
    const hunks = makeHunks(base, `${base}y\n`);
    expect(applyHunks(base, hunks) === `${base}y\n`).toBe(true);
  });
});

describe('a unified diff', () => {
  const diff = (base: string | null, target: string | null, name = 'a.txt'): string =>
    renderDiff(
      { before: base === null ? null : name, after: target === null ? null : name },
      makeHunks(base ?? '', target ?? ''),
    );

  it('shows what goes and what comes, as diff -u does', () => {
    expect(diff('one\ntwo\r\nthree', 'one\nTWO\r\nthree')).toBe(
      '--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\r\n+TWO\r\n three\n\\ No newline at end of file',
    );
  });

  it.each([
    ['a new file', null, 'a\n', '--- /dev/null\n+++ a.txt\n@@ -0,0 +1,1 @@\n+a'],
    ['a deleted file', 'a\n', null, '--- a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a'],
    ['a file that becomes empty', 'a\n', '', '--- a.txt\n+++ a.txt\n@@ -1,1 +0,0 @@\n-a'],
    [
      'a missing line end',
      'a',
      'a\n',
      '--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a',
    ],
  ])('shows %s', (_, base, target, shown) => {
    expect(diff(base, target)).toBe(shown);
  });

  it('keeps a name on one line, whatever is in it', () => {
    const shown = diff('a\n', 'b\n', 'x\n+++ y\n@@ -1 +1 @@');
    expect(shown.split('\n').slice(0, 3)).toEqual([
      '--- "x\\n+++ y\\n@@ -1 +1 @@"',
      '+++ "x\\n+++ y\\n@@ -1 +1 @@"',
      '@@ -1,1 +1,1 @@',
    ]);
  });
});
