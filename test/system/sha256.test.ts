import { sha256 } from '../../src/system/sha256';
import { digestText } from '../../src/contract/digest';

it.each([
  ['nothing', ''],
  ['plain text', 'refund 12.50'],
  ['other scripts and emoji', 'naïve 返金 📁'],
  ['half a character', 'a\ud800b'],
  ['a long text', 'x€'.repeat(100_000)],
])('%s has the digest that the contract gives it', (_, text) => {
  expect(sha256(text)).toMatch(/^[0-9a-f]{64}$/);
  expect(sha256(text)).toBe(digestText(text));
  expect(sha256(Buffer.from(text))).toBe(digestText(text));
});
