import { type ModelPrice, priced } from '../../../src/contract/spending/prices';
import { addUsage, sumUsage, tokensOf, type Usage } from '../../../src/contract/spending/usage';

const bytes = { read: 400, wrote: 40 };
const costOf = (
  usage: Usage | undefined,
  prices: Record<string, ModelPrice>,
  model = 'm',
): Usage | undefined => priced(usage, { model, pricing: { currency: 'EUR', prices }, bytes });

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

describe('the cost', () => {
  const usage = { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 600, cacheWriteTokens: 200 };
  const price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };

  test.each([
    ['with all prices', price, (200 * 3 + 600 * 0.3 + 200 * 3.75 + 100 * 15) / 1e6],
    ['with two prices', { input: 3, output: 15 }, (1000 * 3 + 100 * 15) / 1e6],
    ['of a model that is free', { input: 0, output: 0 }, 0],
  ])('%s', (_, given, cost) => {
    expect(costOf(usage, { m: given })).toEqual({ ...usage, cost, currency: 'EUR' });
  });

  test.each([
    ['its own id', { 'openai:gpt-5': { input: 1, output: 0 }, 'openai:*': { input: 2, output: 0 } }, 0.001],
    ['the longest head', { 'openai:gpt*': { input: 2, output: 0 }, '*': { input: 3, output: 0 } }, 0.002],
    ['none', { 'google:*': { input: 2, output: 0 }, 'openai:gpt': { input: 1, output: 0 } }, undefined],
    ['a name of every object', {}, undefined],
  ])('is by %s', (_, prices, cost) => {
    expect(costOf({ inputTokens: 1000 }, prices, 'openai:gpt-5')?.cost).toBe(cost);
  });

  test.each<[string, Usage | undefined, number]>([
    ['is estimated where nothing was counted', undefined, (100 * 3 + 10 * 15) / 1e6],
    ['counts a total as output where nothing else was counted', { totalTokens: 100 }, (100 * 15) / 1e6],
    [
      'counts what the total has beyond the input as output',
      { inputTokens: 60, totalTokens: 100 },
      (60 * 3 + 40 * 15) / 1e6,
    ],
  ])('%s', (_, counted, cost) => {
    expect(costOf(counted, { m: price })).toEqual({ ...counted, cost, currency: 'EUR' });
  });

  test('is not known without a price', () => {
    expect(costOf(undefined, {})).toBeUndefined();
    expect(costOf({}, {}, 'toString')).toEqual({});
  });
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
