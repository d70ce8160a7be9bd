import { numbered } from '../../../src/web/model/diff';

it('counts the lines before and after', () => {
  const lines = [' a', '-b', '+c', '+d', ' e', '\\ No newline at end of file'];
  const hunk = { id: '1', oldStart: 10, oldLines: 3, newStart: 20, newLines: 4, lines };
  expect(numbered(hunk).map(({ before, after }) => [before, after])).toEqual([
    [10, 20],
    [11, ''],
    ['', 21],
    ['', 22],
    [12, 23],
    ['', ''],
  ]);
});
