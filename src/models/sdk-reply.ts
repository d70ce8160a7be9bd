import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { isObject } from '../contract/json';
import type { Usage } from '../contract/spending/usage';
import { type GatheredPart, opaqueOf } from './kept-reasoning';
import { type ModelCall, ModelError, type ModelReply } from './model';
import { ShownText, splitThoughts } from './chat/thoughts';
import { refusalOf } from './refusal';
import type { PromptOptions } from './sdk-messages';

interface Gathered {
  calls: ModelCall[];
  refusal: string;
  parts: GatheredPart[];
  finish?: { finishReason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage };
}

/**
 * A whole reply from a JSON body.
 *
 * @throws ModelError `refused` if the model or a filter refused.
 */
export function toReply(result: LanguageModelV3GenerateResult, options: PromptOptions): ModelReply {
  const { content, finishReason, usage, response } = result;
  const gathered: Gathered = {
    calls: [],
    refusal: refusalOf(response?.body),
    parts: [],
    finish: { finishReason, usage },
  };
  for (const part of content) addPart(gathered, part);
  return finish(gathered, options);
}

/**
 * A whole reply from a stream: all of it or an error, never a part.
 *
 * @param onText Takes the text while it comes.
 * @throws the stream's error, or ModelError `network` if the stream ended early.
 */
export async function collectReply(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  options: PromptOptions,
  onText?: (text: string) => void,
): Promise<ModelReply> {
  const gathered: Gathered = { calls: [], refusal: '', parts: [] };
  const open = new Map<string, GatheredPart>();
  const shown = new ShownText();
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    else if (part.type === 'raw') gathered.refusal += refusalOf(part.rawValue);
    else if (part.type === 'finish') gathered.finish = part;
    else if (part.type === 'tool-call') addPart(gathered, part);
    else addPiece(gathered, open, part);
    if (part.type === 'text-delta') showText(shown.add(part.delta), onText);
  }
  showText(shown.end(), onText);
  const { unified, raw } = gathered.finish?.finishReason ?? {};
  // Some packages end a cut stream like a complete stream, but without a reason.
  if (unified === 'other' && raw === undefined) delete gathered.finish;
  return finish(gathered, options);
}

function showText(text: string, onText: ((text: string) => void) | undefined): void {
  if (text !== '') onText?.(text);
}

/** Adds a piece of text or reasoning. Pieces of several parts may alternate, so each piece has the id of its part. */
function addPiece(
  { parts }: Gathered,
  open: Map<string, GatheredPart>,
  piece: LanguageModelV3StreamPart,
): void {
  const [, kind, place] = /^(text|reasoning)-(start|delta|end)$/.exec(piece.type) ?? [];
  if (kind === undefined || !('id' in piece)) return;
  const type = kind === 'text' ? 'text' : 'reasoning';
  const key = `${type} ${String(piece.id)}`;
  const known = place === 'start' ? undefined : open.get(key);
  const part: GatheredPart = known ?? { type, text: '', meta: {} };
  if (known === undefined) parts.push(part);
  open.set(key, part);
  if ('delta' in piece) part.text += piece.delta;
  if ('providerMetadata' in piece) addMeta(part, piece.providerMetadata);
}

function addPart({ calls, parts }: Gathered, part: LanguageModelV3Content): void {
  const meta = {};
  if (part.type === 'text' || part.type === 'reasoning')
    parts.push({ type: part.type, text: part.text, meta });
  else if (part.type === 'tool-call') {
    const { toolCallId, toolName, input } = part;
    calls.push({ id: toolCallId === '' ? undefined : toolCallId, name: toolName, arguments: input });
    parts.push({ type: 'call', text: '', meta });
  } else return;
  addMeta({ meta }, part.providerMetadata);
}

function addMeta({ meta }: Pick<GatheredPart, 'meta'>, more: unknown): void {
  if (!isObject(more)) return;
  for (const [provider, facts] of Object.entries(more))
    if (isObject(facts)) meta[provider] = { ...meta[provider], ...facts };
}

function finish(gathered: Gathered, { by }: PromptOptions): ModelReply {
  const { calls, refusal, finish: end } = gathered;
  if (end === undefined) throw new ModelError('network', 'the reply ended early', { retryable: true });
  const { finishReason } = end;
  const usage = toUsage(end.usage);
  if (refusal !== '') throw refused(`the model refused: ${refusal.slice(0, 500)}`, usage);
  if (finishReason.unified === 'content-filter')
    throw refused("the provider's content filter ended the reply", usage);
  const parts = gathered.parts.flatMap(withoutThoughts);
  const text = wordsOf(parts, 'text');
  const isSilent = text.trim() === '' && calls.length === 0;
  return {
    text,
    toolCalls: finishReason.unified === 'length' ? markCut(calls) : calls,
    finishReason: finishReason.unified === 'other' ? (finishReason.raw ?? 'other') : finishReason.unified,
    usage,
    opaque: opaqueOf(parts, by),
    thoughts: isSilent ? wordsOf(parts, 'reasoning') || undefined : undefined,
  };
}

function wordsOf(parts: readonly GatheredPart[], kind: GatheredPart['type']): string {
  return parts.map(({ type, text }) => (type === kind ? text : '')).join('');
}

/** A part with the thoughts that a model wrote into its text as parts of their own. */
function withoutThoughts(part: GatheredPart): GatheredPart[] {
  if (part.type !== 'text') return [part];
  const { text, thoughts } = splitThoughts(part.text);
  if (thoughts.length === 0) return [part];
  return [
    ...thoughts.map((one): GatheredPart => ({ type: 'reasoning', text: one, meta: {} })),
    { ...part, text },
  ];
}

function refused(message: string, usage: Usage | undefined): ModelError {
  return new ModelError('refused', message, { retryable: false, usage });
}

/**
 * At the token limit the last call may have been cut. Its text is then not JSON, and the model gets an error for it.
 * Empty text would mean "no arguments" and the call would run, so it becomes text that is not JSON.
 */
function markCut(calls: readonly ModelCall[]): ModelCall[] {
  return calls.map((call, index) =>
    index === calls.length - 1 && call.arguments.trim() === '' ? { ...call, arguments: '{' } : call,
  );
}

const tokens = z.number().int().nonnegative();

/**
 * The names that providers use for the tokens of a request and of a reply. The packages write 0 if a provider did
 * not count them.
 */
const COUNTED = {
  input: ['prompt_tokens', 'input_tokens', 'promptTokenCount'],
  output: ['completion_tokens', 'output_tokens', 'candidatesTokenCount', 'thoughtsTokenCount'],
  total: ['total_tokens', 'totalTokenCount'],
} as const;

/** The tokens that the provider counted. */
function toUsage({ inputTokens, outputTokens, raw = {} }: LanguageModelV3Usage): Usage | undefined {
  const count = (names: readonly string[], value: unknown): number | undefined =>
    names.some((name) => tokens.safeParse(raw[name]).success) ? tokens.safeParse(value).data : undefined;
  const some = (value: number | undefined): number | undefined =>
    value === undefined || value === 0 ? undefined : tokens.safeParse(value).data;
  const input = count(COUNTED.input, inputTokens.total);
  const output = count(COUNTED.output, outputTokens.total);
  const total =
    tokens.safeParse(COUNTED.total.map((name) => raw[name]).find((value) => value !== undefined)).data ??
    (input === undefined || output === undefined ? undefined : input + output);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: total,
    cachedInputTokens: some(inputTokens.cacheRead),
    cacheWriteTokens: some(inputTokens.cacheWrite),
    reasoningTokens: some(outputTokens.reasoning),
  };
}
