import { digestJson, digestText } from '../../src/contract/digest';
import { hunkRange, previewDigests, seenDigestOf, type FilePlan } from '../../src/contract/plan';

const plan: FilePlan = { path: 'a.md', baseHash: null, targetHash: 'f', encoding: 'utf8', hunks: [] };

test('a preview has the digest of its text, and of its plan where there is one', () => {
  expect(previewDigests({ text: 'pays' })).toEqual({ previewDigest: digestText('pays') });
  expect(previewDigests({ text: 'pays', plan })).toEqual({
    previewDigest: digestText('pays'),
    planDigest: digestJson(plan),
  });
});

test('anything else that is shown makes another digest of what was seen', () => {
  const shown = [
    { argsDigest: 'a' },
    { argsDigest: 'b' },
    { argsDigest: 'a', previewDigest: 'p' },
    { argsDigest: 'a', planDigest: 'p' },
    { argsDigest: 'a', previewDigest: 'p', planDigest: 'p' },
  ];
  expect(new Set(shown.map((one) => seenDigestOf(one))).size).toBe(shown.length);
  expect(seenDigestOf({ argsDigest: 'a' })).toMatch(/^[0-9a-f]{64}$/);
});

test('another hash function is used for every part', () => {
  const texts: string[] = [];
  const digest = (text: string): string => `#${texts.push(text)}`;
  expect(previewDigests({ text: 'pays', plan }, digest)).toEqual({ previewDigest: '#1', planDigest: '#2' });
  expect(seenDigestOf({ argsDigest: 'a' }, digest)).toBe('#3');
});

test.each<[string, [number, number, number, number], string]>([
  ['a changed line', [4, 1, 4, 2], '@@ -4,1 +4,2 @@'],
  ['a new file', [1, 0, 1, 3], '@@ -0,0 +1,3 @@'],
  ['lines behind the fourth', [5, 0, 5, 2], '@@ -4,0 +5,2 @@'],
  ['all lines of a file that go', [1, 3, 1, 0], '@@ -1,3 +0,0 @@'],
])('the range of %s is that of a unified diff', (_case, [oldStart, oldLines, newStart, newLines], range) => {
  expect(hunkRange({ id: '1', oldStart, oldLines, newStart, newLines, lines: [] })).toBe(range);
});
