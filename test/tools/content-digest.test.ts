import { contentDigest } from '../../src/tools/content-digest';
import { digestText } from '../../src/contract/digest';

it.each([
  ['nothing', ''],
  ['plain text', 'refund 12.50'],
  ['other scripts and emoji', 'naïve 返金 📁'],
  ['half a character', 'a\ud800b'],
  ['a long text', 'x€'.repeat(100_000)],
])('%s has the digest that the contract gives it', (_, text) => {
  expect(contentDigest(text)).toMatch(/^[0-9a-f]{64}$/);
  expect(contentDigest(text)).toBe(digestText(text));
});
