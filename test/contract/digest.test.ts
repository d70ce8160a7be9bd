import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { sha256 } from '../../src/system/sha256';
import {
  canonicalJson,
  digestJson,
  digestText,
  previewDigests,
  seenDigestOf,
} from '../../src/contract/digest';
import type { FilePlan } from '../../src/contract/plan';

test('digests of text are SHA-256 of its UTF-8, in the sandbox and in an activity alike', () => {
  const property = fc.property(fc.string({ unit: 'binary' }), (text) => {
    const expected = createHash('sha256').update(Buffer.from(text, 'utf8')).digest('hex');
    expect(digestText(text)).toBe(expected);
    expect(sha256(text)).toBe(expected);
  });
  fc.assert(property);
});

describe('the vectors of RFC 8785, as the package canonicalize (Apache-2.0) has them', () => {
  const folder = join(dirname(require.resolve('canonicalize/package.json')), 'test', 'testdata');

  test.each(['arrays', 'french', 'structures', 'values', 'weird'])('%s', (name) => {
    const [input, output] = ['input', 'output'].map((side) =>
      readFileSync(join(folder, side, `${name}.json`), 'utf8'),
    );
    expect(canonicalJson(JSON.parse(input ?? ''))).toBe(output?.trimEnd());
  });
});

test('the order of keys does not matter, everything else does', () => {
  expect(digestJson({ a: 1, b: [1, { c: 2, d: 3 }] })).toBe(digestJson({ b: [1, { d: 3, c: 2 }], a: 1 }));
  const distinct = [
    {},
    { a: 1 },
    { a: '1' },
    { a: [1] },
    { a: null },
    { b: 1 },
    [1, 2],
    [2, 1],
    '',
    'a ',
    0,
    -1,
    null,
  ];
  expect(new Set(distinct.map((value) => digestJson(value))).size).toBe(distinct.length);
});

// Appendix B and section 3.2.3 of RFC 8785.
test('numbers and strings are written as RFC 8785 writes them', () => {
  const sample = {
    numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 1e-27],
    string: '€$\u000f\nA\'B"\\\\"/',
    literals: [null, true, false],
  };
  const canonical =
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}';
  expect(digestJson(sample)).toBe(digestText(canonical));
});

test.each([undefined, () => 1])('%p has no digest', (value) => {
  expect(() => digestJson(value)).toThrow();
});

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
