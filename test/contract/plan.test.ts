import { hunkRange } from '../../src/contract/plan';

test.each<[string, [number, number, number, number], string]>([
  ['a changed line', [4, 1, 4, 2], '@@ -4,1 +4,2 @@'],
  ['a new file', [1, 0, 1, 3], '@@ -0,0 +1,3 @@'],
  ['lines behind the fourth', [5, 0, 5, 2], '@@ -4,0 +5,2 @@'],
  ['all lines of a file that go', [1, 3, 1, 0], '@@ -1,3 +0,0 @@'],
])('the range of %s is that of a unified diff', (_case, [oldStart, oldLines, newStart, newLines], range) => {
  expect(hunkRange({ id: '1', oldStart, oldLines, newStart, newLines, lines: [] })).toBe(range);
});
