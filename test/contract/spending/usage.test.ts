import { addUsage, sumUsage, tokensOf } from '../../../src/contract/spending/usage';

test.each([
  [{}, undefined, {}],
  [{ inputTokens: 1 }, { outputTokens: 2 }, { inputTokens: 1, outputTokens: 2 }],
  [
    { totalTokens: 1, cost: 0.1, currency: 'EUR' },
    { totalTokens: 2, cost: 0.2, currency: 'EUR' },
    { totalTokens: 3, cost: 0.3, currency: 'EUR' },
  ],
  [{ cachedInputTokens: 1 }, { reasoningTokens: 5 }, { cachedInputTokens: 1, reasoningTokens: 5 }],
])('%j and %j are %j', (sum, more, expected) => {
  expect(addUsage(sum, more)).toEqual(expected);
});

test('of several currencies is not added up, whatever comes later', () => {
  const [eur, usd] = ['EUR', 'USD'].map((currency) => ({ usage: { totalTokens: 1, cost: 1, currency } }));
  const sum = { totalTokens: 3, currency: 'several' };
  expect(sumUsage([eur, usd, eur].map((one) => ({ ...one })))).toEqual(sum);
  expect(sumUsage([{}, { usage: { totalTokens: 1 } }, eur ?? {}])).toEqual({
    ...{ totalTokens: 2, cost: 1, currency: 'EUR' },
  });
});

test('of many replies, in whatever order', () => {
  const replies = Array.from({ length: 1000 }, (_, n) => ({ usage: { cost: n / 1e7 } }));
  expect(sumUsage(replies)).toEqual(sumUsage(replies.toReversed()));
  expect(sumUsage([{}, { usage: { totalTokens: 1 } }])).toEqual({ totalTokens: 1 });
});

it.each([
  [{}, undefined],
  [{ totalTokens: 7 }, 7],
  [{ inputTokens: 3 }, 3],
  [{ inputTokens: 3, outputTokens: 4 }, 7],
  [{ inputTokens: 3, outputTokens: 4, totalTokens: 9 }, 9],
])('tokens of %j are %p', (usage, tokens) => {
  expect(tokensOf(usage)).toBe(tokens);
});
