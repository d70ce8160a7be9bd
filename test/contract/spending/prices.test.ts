import { priced, type Pricing } from '../../../src/contract/spending/prices';
import type { Usage } from '../../../src/contract/spending/usage';

const bytes = { read: 400, wrote: 40 };
const costOf = (usage: Usage | undefined, prices: Pricing['prices'], model = 'm'): Usage | undefined =>
  priced(usage, { model, pricing: { currency: 'EUR', prices }, bytes });

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
