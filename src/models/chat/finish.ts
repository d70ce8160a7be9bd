import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import { ModelError } from '../model';

type Unified = LanguageModelV3FinishReason['unified'];

/** What servers write as the reason why a reply ended. */
const REASONS: readonly [RegExp, Unified][] = [
  [/^(?:stop\w*|eos\w*|end\w*|complete\w*|finished?|normal|done)$/, 'stop'],
  [/length|max_?(?:output_?)?tokens|truncated/, 'length'],
  [/content_?filter|safety|blocked|prohibited|recitation|sensitive/, 'content-filter'],
  [/^(?:tool|function)_?(?:calls?|use)$/, 'tool-calls'],
];

/** Reasons that say that the reply is broken, although the server sent one. */
const BROKEN = /error|abort|cancel|malformed|overload/;

/**
 * Why a reply ended. A reply with calls is one, whatever the server calls it.
 *
 * @throws ModelError `server` if the server says that it broke the reply off.
 */
export function finishOf(raw: string | undefined, hasCalls: boolean): LanguageModelV3FinishReason {
  const word = (raw ?? 'stop').toLowerCase().replaceAll(/[\s-]+/g, '_');
  if (BROKEN.test(word))
    throw new ModelError('server', `the server broke the reply off: ${raw}`, { retryable: true });
  const unified = REASONS.find(([pattern]) => pattern.test(word))?.[1] ?? 'other';
  const isCallIn = hasCalls && (unified === 'stop' || unified === 'other');
  return { unified: isCallIn ? 'tool-calls' : unified, raw: raw ?? 'stop' };
}
