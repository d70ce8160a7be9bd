import { addUsage, estimatedTokens, tokensOf, type Usage } from './usage';

/** The prices of a model, each for a million tokens, in the currency of the config. */
interface ModelPrice {
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
