import { defined } from '../contract/defined';
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { Usage } from '../contract/spending/usage';
import { type ModelCall, ModelError, type ModelMessage, type ModelReply, type ModelRequest } from './model';
import { isObject, parseJson } from '../contract/json';
import { refusalOf } from './refusal';

type SdkTools = NonNullable<LanguageModelV3CallOptions['tools']>;
type SdkTool = Extract<SdkTools[number], { type: 'function' }>;

/** The values that a kind of model needs besides the conversation. */
export interface PromptOptions {
  /**
   * The owner of the opaque parts. Parts from one model at one address are sent back only to that model at that
   * address.
   */
  by: string;
  /**
   * The mark for the provider's cache. It is added to the instructions and to the last message, which are the ends of
   * the parts that the next request repeats.
   */
  cacheMark?: ProviderOptions;
}

type ProviderOptions = NonNullable<LanguageModelV3Message['providerOptions']>;
type AssistantMessage = Extract<LanguageModelV3Message, { role: 'assistant' }>;
type AssistantParts = AssistantMessage['content'];

/**
 * The conversation as the provider package takes it. An empty reply is left out, because providers refuse empty
 * messages.
 */
export function toPrompt(
  { instructions, messages }: Pick<ModelRequest, 'instructions' | 'messages'>,
  options: PromptOptions,
): LanguageModelV3Prompt {
  const system: LanguageModelV3Message[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const said = messages
    .map((message, place) => toSdkMessage(message, place, options.by))
    .filter(({ content }) => content.length > 0);
  const prompt = [...system, ...said];
  if (options.cacheMark === undefined) return prompt;
  const marked = new Set([system.length - 1, prompt.length - 1]);
  return prompt.map((message, place) =>
    marked.has(place) ? { ...message, ...defined({ providerOptions: options.cacheMark }) } : message,
  );
}

function toSdkMessage(message: ModelMessage, place: number, by: string): LanguageModelV3Message {
  if (message.role === 'user') {
    const files = (message.files ?? []).map(({ name: filename, mediaType, bytes: data }) => {
      return { type: 'file', data, mediaType, filename } as const;
    });
    return { role: 'user', content: [{ type: 'text', text: message.content }, ...files] };
  }
  if (message.role === 'tool') {
    const { toolCallId, toolName, content } = message;
    const output = { type: 'text', value: content } as const;
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
  }
  const { content: text, opaque } = message;
  const calls = message.toolCalls.map((call, index) => toSdkCall(call, `call_${place}_${index + 1}`));
  return {
    role: 'assistant',
    content: withOpaque(text, calls, readOpaque(opaque, by)) ?? [...textParts(text), ...calls],
  };
}

function textParts(text: string): { type: 'text'; text: string }[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

type SdkCall = ReturnType<typeof toSdkCall>;

function toSdkCall({ id, name, arguments: raw }: ModelCall, madeUp: string) {
  return { type: 'tool-call', toolCallId: id ?? madeUp, toolName: name, input: toInput(raw) } as const;
}

/** A part of a reply in its order: reasoning with its words, text by its length, or the next call. */
const partSchema = z.union([
  z.strictObject({ reasoning: z.string(), meta: z.unknown().optional() }),
  z.strictObject({ text: z.number(), meta: z.unknown().optional() }),
  z.strictObject({ call: z.literal(true), meta: z.unknown().optional() }),
]);
type Part = z.infer<typeof partSchema>;

const opaqueSchema = z.strictObject({ by: z.string(), parts: z.array(partSchema) });

/** The parts of a reply, if this model made it. */
function readOpaque(opaque: string | undefined, by: string): Part[] | undefined {
  const read = opaqueSchema.safeParse(parseJson(opaque ?? '')).data;
  return read?.by === by ? read.parts : undefined;
}

/** The reply with its parts in their order. Undefined if the parts no longer fit its text or calls. */
function withOpaque(
  text: string,
  calls: readonly SdkCall[],
  parts: readonly Part[] | undefined,
): AssistantParts | undefined {
  if (parts === undefined) return undefined;
  const length = parts.reduce((sum, part) => sum + ('text' in part ? part.text : 0), 0);
  const some = parts.filter((part) => 'call' in part).length;
  if (length !== text.length || some !== calls.length) return undefined;
  const rest = { text, calls: [...calls] };
  return parts.flatMap((part): AssistantParts => {
    const meta = isMeta(part.meta) ? { providerOptions: part.meta } : {};
    if ('reasoning' in part) return [{ type: 'reasoning', text: part.reasoning, ...meta }];
    if ('call' in part) return rest.calls.splice(0, 1).map((call) => ({ ...call, ...meta }));
    const words = rest.text.slice(0, part.text);
    rest.text = rest.text.slice(part.text);
    return [{ type: 'text', text: words, ...meta }];
  });
}

// The value comes from JSON and is sent back unchanged.
function isMeta(meta: unknown): meta is ProviderOptions {
  return isObject(meta) && Object.values(meta).every(isObject);
}

/**
 * Arguments of an earlier call. Servers parse them and refuse the whole conversation unless they are a JSON object, so
 * any other text is sent as `{"unreadable_arguments": text}`. The model sees its own text beside the error.
 */
function toInput(raw: string): Record<string, unknown> {
  if (raw.trim() === '') return {};
  const value = parseJson(raw);
  return isObject(value) ? value : { unreadable_arguments: raw };
}

/** The tools as the provider package takes them. */
export function toSdkTools(tools: ModelRequest['tools']): SdkTool[] {
  return tools.map(({ function: { name, description, parameters } }) => {
    return { type: 'function', name, description, inputSchema: toSdkSchema(parameters) };
  });
}

function toSdkSchema(schema: unknown): SdkTool['inputSchema'] {
  return isSdkSchema(schema) ? schema : {};
}

// The schema is sent unchanged. Only the package's type has fewer keywords than JSON Schema.
function isSdkSchema(schema: unknown): schema is SdkTool['inputSchema'] {
  return isObject(schema);
}

interface Gathered {
  calls: ModelCall[];
  refusal: string;
  parts: GatheredPart[];
  finish?: { finishReason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage };
}

interface GatheredPart {
  type: 'text' | 'reasoning' | 'call';
  text: string;
  meta: Record<string, Record<string, unknown>>;
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
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    else if (part.type === 'raw') gathered.refusal += refusalOf(part.rawValue);
    else if (part.type === 'finish') gathered.finish = part;
    else if (part.type === 'tool-call') addPart(gathered, part);
    else addPiece(gathered, open, part);
    if (part.type === 'text-delta' && part.delta !== '') onText?.(part.delta);
  }
  const { unified, raw } = gathered.finish?.finishReason ?? {};
  // Some packages end a cut stream like a complete stream, but without a reason.
  if (unified === 'other' && raw === undefined) delete gathered.finish;
  return finish(gathered, options);
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
    calls.push({ ...(toolCallId === '' ? {} : { id: toolCallId }), name: toolName, arguments: input });
    parts.push({ type: 'call', text: '', meta });
  } else return;
  addMeta({ meta }, part.providerMetadata);
}

function addMeta({ meta }: Pick<GatheredPart, 'meta'>, more: unknown): void {
  if (!isObject(more)) return;
  for (const [provider, facts] of Object.entries(more))
    if (isObject(facts)) meta[provider] = { ...meta[provider], ...facts };
}

function finish({ calls, refusal, parts, finish: end }: Gathered, { by }: PromptOptions): ModelReply {
  if (end === undefined) throw new ModelError('network', 'the reply ended early', { retryable: true });
  const { finishReason, usage } = end;
  if (refusal !== '') throw refused(`the model refused: ${refusal.slice(0, 500)}`);
  if (finishReason.unified === 'content-filter')
    throw refused("the provider's content filter ended the reply");
  return {
    text: parts.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
    toolCalls: finishReason.unified === 'length' ? markCut(calls) : calls,
    finishReason: finishReason.unified === 'other' ? (finishReason.raw ?? 'other') : finishReason.unified,
    ...defined({ usage: toUsage(usage), opaque: opaqueOf(parts, by) }),
  };
}

/** The data that has to be sent back besides text and calls. Undefined if there is no such data. */
function opaqueOf(gathered: readonly GatheredPart[], by: string): string | undefined {
  const isPlain = gathered.every(({ type, meta }) => type !== 'reasoning' && Object.keys(meta).length === 0);
  if (isPlain) return undefined;
  const parts = gathered.map(({ type, text, meta }): Part => {
    const more = Object.keys(meta).length === 0 ? {} : { meta };
    if (type === 'reasoning') return { reasoning: text, ...more };
    return type === 'text' ? { text: text.length, ...more } : { call: true, ...more };
  });
  return JSON.stringify({ by, parts });
}

function refused(message: string): ModelError {
  return new ModelError('refused', message, { retryable: false });
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
  return defined({
    inputTokens: input,
    outputTokens: output,
    totalTokens: total,
    cachedInputTokens: some(inputTokens.cacheRead),
    cacheWriteTokens: some(inputTokens.cacheWrite),
    reasoningTokens: some(outputTokens.reasoning),
  });
}
