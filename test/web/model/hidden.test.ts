import { deceivingWords } from '../../../src/web/model/hidden';

it.each([
  [0, 0, ''],
  [1, 0, '1 character that would not show'],
  [8, 2, '8 characters that would not show and 2 words with letters that pass for others'],
])('%d and %d in words', (hidden, alike, words) => {
  expect(deceivingWords({ hidden, alike })).toBe(words);
});
