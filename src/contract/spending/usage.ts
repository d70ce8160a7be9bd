import { number, object, type Of, text } from '../schema/shape';

const COUNT = number({ minimum: 0 });

export const USAGE = object(
  {},
  {
    inputTokens: COUNT,
    outputTokens: COUNT,
    totalTokens: COUNT,
    /** The part of the input that the provider had in its cache. */
    cachedInputTokens: COUNT,
    /** The part of the input that the provider put into its cache. */
    cacheWriteTokens: COUNT,
    /** The part of the output that the model used for thinking. */
    reasoningTokens: COUNT,
    /** The cost by the user's own prices. See `prices` of `defineConfig`. Absent: no price, or several currencies. */
    cost: COUNT,
    /** The currency of `cost`, such as `EUR`. */
    currency: text({ maxLength: 10 }),
  },
);

/** Tokens used by one model reply, as the provider counts them. A field is absent if nothing was counted or used. */
export interface Usage extends Of<typeof USAGE> {}

const USAGE_KEYS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'cost',
] as const;

/** Costs are rounded to this part of the currency, so that sums are the same in any order. */
const COST_PARTS = 1e9;

/** The currency of a sum whose parts have several currencies. Such a sum has no cost. */
const SEVERAL = 'several';

/** The sum of two usages. A field that is in neither of them stays absent. */
export function addUsage(sum: Usage, more: Usage = {}): Usage {
  const total = { ...sum };
  for (const key of USAGE_KEYS) {
    const some = more[key];
    if (some !== undefined) total[key] = Math.round(((total[key] ?? 0) + some) * COST_PARTS) / COST_PARTS;
  }
  const currency = sum.currency ?? more.currency;
  if (currency === undefined) return total;
  if (currency === (more.currency ?? currency)) return { ...total, currency };
  const { cost: _cost, ...others } = total;
  return { ...others, currency: SEVERAL };
}

/** The usage of several replies as one. */
export function sumUsage(replies: readonly { usage?: Usage }[]): Usage {
  return replies.reduce<Usage>((sum, { usage }) => addUsage(sum, usage), {});
}

/** The tokens of a reply as its provider counts them. Undefined if the provider counts none. */
export function tokensOf({ inputTokens, outputTokens, totalTokens }: Usage = {}): number | undefined {
  if (totalTokens !== undefined) return totalTokens;
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** The bytes that providers count as one token of English or JSON, on average. */
const BYTES_OF_A_TOKEN = 4;

/** The estimated tokens of a conversation of this many bytes, if a provider does not count. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_OF_A_TOKEN);
}
