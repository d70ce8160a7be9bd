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

/** The prices of a model, each for a million tokens, in the currency of the config. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Input that the provider had in its cache. @default input */
  cachedInput?: number;
  /** Input that the provider put into its cache. @default input */
  cacheWrite?: number;
}

/** The prices of models, by model id. `*` at the end of an id stands for any further characters. */
export interface Pricing {
  currency: string;
  prices: Readonly<Record<string, ModelPrice>>;
}

/** One reply whose cost is worked out. */
interface PricedReply {
  model: string;
  pricing: Pricing;
  /** Bytes that the model read and wrote. Tokens are estimated from them if the provider does not count. */
  bytes: { read: number; wrote: number };
}

/** A usage with its cost, if there is a price for the model. */
export function priced(usage: Usage | undefined, { model, pricing, bytes }: PricedReply): Usage | undefined {
  const price = priceOf(pricing, model);
  if (price === undefined) return usage;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const counted =
    tokensOf(usage) === undefined
      ? { inputTokens: estimatedTokens(bytes.read), outputTokens: estimatedTokens(bytes.wrote) }
      : (usage ?? {});
  const { inputTokens = 0, totalTokens = 0 } = counted;
  const { cachedInputTokens: cached = 0, cacheWriteTokens: written = 0 } = counted;
  // If input and output are not counted separately, all tokens count as output, which costs more.
  const outputTokens = counted.outputTokens ?? Math.max(0, totalTokens - inputTokens);
  const plain = Math.max(0, inputTokens - cached - written);
  const millionfold = plain * input + cached * cachedInput + written * cacheWrite + outputTokens * output;
  return addUsage(usage ?? {}, { cost: millionfold / 1e6, currency: pricing.currency });
}

/** The price of a model: by its id, or by the longest entry with `*` that the id begins with. */
export function priceOf({ prices }: Pick<Pricing, 'prices'>, model: string): ModelPrice | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [best] = Object.keys(prices)
    .filter((name) => name.endsWith('*') && model.startsWith(name.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return best === undefined ? undefined : prices[best];
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
