import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import { isObject } from '../../contract/json';
import { asNumber } from './values';

/**
 * The tokens that a server of chat completions counted. Where thoughts are not part of the counted output, the total or
 * the thoughts' own count tells. Cached tokens have several names.
 */
export function chatUsage(counted: unknown): LanguageModelV3Usage {
  const usage = isObject(counted) ? counted : {};
  const of = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
  const first = (values: readonly unknown[]): number | undefined =>
    values.map(asNumber).find((value) => value !== undefined);
  const inputs = of(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const outputs = of(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  const input = first([usage['prompt_tokens'], usage['input_tokens']]);
  const written = first([usage['completion_tokens'], usage['output_tokens']]);
  const total = asNumber(usage['total_tokens']);
  const thoughts = first([outputs['reasoning_tokens'], usage['reasoning_tokens']]);
  const cached = first([
    inputs['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['cached_tokens'],
    usage['cache_read_input_tokens'],
  ]);
  const output = outputTokens({ input, written, total, thoughts });
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: thoughts },
    raw: { prompt_tokens: input, completion_tokens: output, total_tokens: total },
  };
}

type Counts = Record<'input' | 'written' | 'total' | 'thoughts', number | undefined>;

function outputTokens({ input, written, total, thoughts = 0 }: Counts): number | undefined {
  const byTotal = input === undefined || total === undefined ? 0 : total - input;
  if (written === undefined) return byTotal > 0 ? byTotal : undefined;
  const withThoughts = thoughts > written ? written + thoughts : written;
  return total === undefined || input === undefined ? withThoughts : Math.max(written, byTotal);
}
