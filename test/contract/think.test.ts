import { addUsage, priced, sumUsage } from '../../src/contract/think';

test.each([
  [{}, undefined, {}],
  [{ inputTokens: 1 }, { outputTokens: 2 }, { inputTokens: 1, outputTokens: 2 }],
  [
    { totalTokens: 1, cost: 0.1 },
    { totalTokens: 2, cost: 0.2 },
    { totalTokens: 3, cost: 0.3 },
  ],
  [{ cachedInputTokens: 1 }, { reasoningTokens: 5 }, { cachedInputTokens: 1, reasoningTokens: 5 }],
])('%j and %j are %j', (sum, more, expected) => {
  expect(addUsage(sum, more)).toEqual(expected);
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
    expect(priced(usage, { m: given }, 'm')).toEqual({ ...usage, cost });
  });

  test.each([
    ['its own id', { 'openai:gpt-5': { input: 1, output: 0 }, 'openai:*': { input: 2, output: 0 } }, 0.001],
    ['the longest head', { 'openai:gpt*': { input: 2, output: 0 }, '*': { input: 3, output: 0 } }, 0.002],
    ['none', { 'google:*': { input: 2, output: 0 }, 'openai:gpt': { input: 1, output: 0 } }, undefined],
    ['a name of every object', {}, undefined],
  ])('is by %s', (_, prices, cost) => {
    expect(priced({ inputTokens: 1000 }, prices, 'openai:gpt-5')?.cost).toBe(cost);
  });

  test('is not made where nothing was counted', () => {
    expect(priced(undefined, { m: price }, 'm')).toBeUndefined();
    expect(priced({}, {}, 'toString')).toEqual({});
  });
});
