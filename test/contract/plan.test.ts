import { digestJson, digestText } from '../../src/contract/digest';
import { previewDigests, seenDigestOf, type FilePlan } from '../../src/contract/plan';

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
