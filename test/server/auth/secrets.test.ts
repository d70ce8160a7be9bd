import { digestSecret, drawSecret, sameDigest } from '../../../src/server/auth/secrets';

it('draws 256 bits that a URL and a shell take as they are, another each time', () => {
  const drawn = Array.from({ length: 100 }, drawSecret);
  for (const secret of drawn) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(new Set(drawn).size).toBe(100);
});

it('stores SHA-256 in hex', () => {
  expect(digestSecret('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

const digest = digestSecret('one');

it.each([
  ['the same digest', digest, digest, true],
  ['the same in capitals, which is the same bytes', digest, digest.toUpperCase(), true],
  ['another secret', digest, digestSecret('two'), false],
  ['one that was cut', digest, digest.slice(0, -2), false],
  ['one that has more', digest, `${digest}00`, false],
  ['nothing with a digest', digest, '', false],
  ['nothing with nothing', '', '', true],
  ['something that is not hex', digest, 'z'.repeat(64), false],
])('compares %s', (_case, first, second, isSame) => {
  expect(sameDigest(first, second)).toBe(isSame);
});
