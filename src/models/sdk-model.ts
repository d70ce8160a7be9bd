import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Prompt,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  LanguageModelV3Message,
} from '@ai-sdk/provider';
import { defined } from '../contract/defined';
import { isJsonObject, type JsonObject, isObject, parseJson } from '../contract/json';
import { hideSecrets, redactSecrets } from '../contract/text/redact';
import { outgoingFetch } from '../system/proxies';
import type { HttpModelSettings } from './http-settings';
import {
  type Model,
  ModelError,
  type ModelReply,
  type ModelRequest,
  type ModelCall,
  type ModelMessage,
} from './model';
import { secretForms, toModelError } from './provider-errors';
import { z } from 'zod';
import type { Usage } from '../contract/spending/usage';
import { type GatheredPart, opaqueOf, readOpaque, type SdkCall, restoredParts } from './kept-reasoning';
import { ShownText, splitThoughts } from './chat/thoughts';
import { refusalOf } from './refusal';
import { type IdForm, withFittingIds } from './call-ids';
import { schemaForProvider } from './tool-schemas';

/** The options with which `sdkModel` makes a `Model` from a model of the AI SDK. */
interface SdkModelOptions extends PromptOptions {
  /** The name under which `call` has the provider's own options. */
  provider: string;
  settings: HttpModelSettings;
  /** Makes the SDK's model, once, with the `fetch` it has to use. */
  load(fetch: typeof globalThis.fetch): LanguageModelV3 | Promise<LanguageModelV3>;
  /** Options of every request, such as the provider's own options. */
  call?: Partial<LanguageModelV3CallOptions>;
}

/**
 * Makes a `Model` from a language model of the AI SDK. Each attempt is one request, because Temporal retries; only where a
 * step lacks the thoughts that the provider wants, it is asked a second time, without thinking. Failures
 * are ModelErrors, see `toModelError`. A reply is used only when all of it has arrived. Arguments stay the raw text of
 * the model. Neither the returned object nor a message shows a key.
 */
export function sdkModel(options: SdkModelOptions): Model {
  const { settings } = options;
  const { id, secrets, takes } = settings;
  let loaded: Promise<LanguageModelV3> | undefined;
  return {
    id,
    takes,
    about: aboutOf(options),
    async generate(request) {
      try {
        loaded ??= Promise.resolve(options.load(limitedFetch()));
        return await ask(await loaded, options, request);
      } catch (error) {
        throw toModelError(error, { model: id, secrets, ended: request.signal.aborted });
      }
    },
  };
}

function aboutOf({ settings: { baseUrl, secrets }, provider, call }: SdkModelOptions) {
  const all = {
    ...defined({ maxOutputTokens: call?.maxOutputTokens }),
    ...call?.providerOptions?.[provider],
  };
  const shown = Object.entries(Object(redactSecrets(all))).map(
    ([name, value]) => `${name} ${JSON.stringify(value)}`,
  );
  return hideSecrets([baseUrl, ...shown].join(', '), secretForms(secrets));
}

async function ask(
  model: LanguageModelV3,
  options: SdkModelOptions,
  request: ModelRequest,
): Promise<ModelReply> {
  const { provider, settings } = options;
  const call: LanguageModelV3CallOptions = {
    ...options.call,
    prompt: toPrompt(request, options),
    tools: toSdkTools(request.tools, options),
    abortSignal: AbortSignal.any([request.signal, AbortSignal.timeout(settings.timeoutMs)]),
  };
  if (lacksThoughts(call)) return askOnce(model, options, { request, call: withoutThinking(call, provider) });
  try {
    return await askOnce(model, options, { request, call });
  } catch (error) {
    if (!wantsThoughts(toModelError(error, { model: settings.id, secrets: [] }), call)) throw error;
    return await askOnce(model, options, { request, call: withoutThinking(call, provider) });
  }
}

async function askOnce(
  model: LanguageModelV3,
  options: SdkModelOptions,
  { request: { onText }, call }: { request: ModelRequest; call: LanguageModelV3CallOptions },
): Promise<ModelReply> {
  const { stream: isStream = onText !== undefined } = options.settings;
  if (!isStream) return toReply(await model.doGenerate(call), options);
  const { stream, response } = await model.doStream({ ...call, includeRawChunks: true });
  if (/^application\/json\b/i.test(response?.headers?.['content-type'] ?? '')) throw noStream();
  return collectReply(stream, options, onText);
}

function noStream(): ModelError {
  const message = 'the server answers with JSON where a stream was asked for; give the model `stream: false`';
  return new ModelError('server', message, { retryable: true });
}

/** The largest reply: many times what a step can hold, and small enough for a worker's memory. */
const REPLY_BYTES = 64 * 1024 * 1024;

/** A `fetch` that follows no redirect, and that fails and closes the connection when a body exceeds the limit. */
function limitedFetch(): typeof outgoingFetch {
  return async (input, init) => {
    // A redirect would send the conversation to a server that is not configured.
    const response = await outgoingFetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    if (response.ok) refusePage(response, input);
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limiter(REPLY_BYTES)), { status, statusText, headers });
  };
}

/** A page is what a proxy or another server answers. */
function refusePage({ headers }: Response, input: Parameters<typeof outgoingFetch>[0]) {
  const type = headers.get('content-type') ?? '';
  if (!/^(?:text\/html|application\/xhtml)/i.test(type)) return;
  const url = input instanceof Request ? input.url : String(input);
  const message = `${url} answered with ${type}, so it did not come from a model; look at baseUrl and at proxies`;
  throw new ModelError('network', message, { retryable: true });
}

function limiter(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > limit)
        controller.error(
          new ModelError('server', `the reply has more than ${limit} bytes`, { retryable: true }),
        );
      else controller.enqueue(chunk);
    },
  });
}

type Settings = NonNullable<LanguageModelV3CallOptions['providerOptions']>[string];

/** Whether a question asks for thinking, and the conversation has a step of this turn that lacks its thoughts. */
function lacksThoughts({ prompt, providerOptions = {} }: LanguageModelV3CallOptions) {
  const isAsked = Object.values(providerOptions).some((settings) => {
    const thinking: unknown = settings['thinking'];
    return isJsonObject(thinking) && thinking['type'] === 'enabled';
  });
  return isAsked && hasBareCalls(prompt);
}

/** Whether a step since the last words of a person, or the last step, begins without thoughts and has calls. */
function hasBareCalls(prompt: LanguageModelV3Prompt) {
  const words = prompt.findLastIndex(({ role }) => role === 'user');
  const last = prompt.findLastIndex(({ role }) => role === 'assistant');
  return prompt
    .slice(Math.max(0, Math.min(words, last)))
    .some(
      (message) =>
        message.role === 'assistant' &&
        message.content[0]?.type !== 'reasoning' &&
        message.content.some(({ type }) => type === 'tool-call'),
    );
}

/** Whether a provider refused a conversation because thoughts are not there. */
function wantsThoughts(error: ModelError, { prompt }: LanguageModelV3CallOptions) {
  const isNamed = /reasoning_content|thinking|thought/i.test(error.message);
  return error.kind === 'request' && isNamed && hasBareCalls(prompt);
}

/** The same question without thinking, and without the thoughts of earlier steps, which then have no place. */
function withoutThinking(call: LanguageModelV3CallOptions, provider: string): LanguageModelV3CallOptions {
  const settings = withoutEffort(call.providerOptions?.[provider] ?? {});
  const own = { ...settings, thinking: { type: 'disabled' } };
  const prompt = call.prompt.map((message) =>
    message.role === 'assistant'
      ? { ...message, content: message.content.filter(({ type }) => type !== 'reasoning') }
      : message,
  );
  return { ...call, prompt, providerOptions: { ...call.providerOptions, [provider]: own } };
}

/** Settings without those that ask for thinking in another way. */
function withoutEffort(settings: Settings): Settings {
  const { reasoning_effort: _effort, reasoning: _reasoning, ...others } = settings;
  const { enable_thinking: isOn, chat_template_kwargs: template } = settings;
  return {
    ...others,
    ...(isOn === undefined ? {} : { enable_thinking: false }),
    ...(isJsonObject(template) ? { chat_template_kwargs: { ...template, ...thinkingOff(template) } } : {}),
  };
}

function thinkingOff(template: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(template)
      .filter((key) => /thinking$/.test(key))
      .map((key) => [key, false]),
  );
}

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
function toReply(result: LanguageModelV3GenerateResult, options: PromptOptions): ModelReply {
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
async function collectReply(
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

function showText(text: string, onText: ((text: string) => void) | undefined) {
  if (text !== '') onText?.(text);
}

/** Adds a piece of text or reasoning. Pieces of several parts may alternate, so each piece has the id of its part. */
function addPiece({ parts }: Gathered, open: Map<string, GatheredPart>, piece: LanguageModelV3StreamPart) {
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

function addPart({ calls, parts }: Gathered, part: LanguageModelV3Content) {
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

function addMeta({ meta }: Pick<GatheredPart, 'meta'>, more: unknown) {
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

function wordsOf(parts: readonly GatheredPart[], kind: GatheredPart['type']) {
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

function refused(message: string, usage: Usage | undefined) {
  return new ModelError('refused', message, { retryable: false, usage });
}

/**
 * At the token limit the last call may have been cut. Its text is then not JSON, and the model gets an error for it.
 * Empty text would mean "no arguments" and the call would run, so it becomes text that is not JSON.
 */
function markCut(calls: readonly ModelCall[]) {
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
  const count = (names: readonly string[], value: unknown) =>
    names.some((name) => tokens.safeParse(raw[name]).success) ? tokens.safeParse(value).data : undefined;
  const some = (value: number | undefined) =>
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

type SdkTool = Extract<NonNullable<LanguageModelV3CallOptions['tools']>[number], { type: 'function' }>;

/** The values that a kind of model needs besides the conversation. */
interface PromptOptions {
  /**
   * The owner of the opaque parts. Parts from one model at one address are sent back only to that model at that
   * address.
   */
  by: string;
  /**
   * The mark for the provider's cache. It is added to the instructions and to the last message, which are the ends of
   * the parts that the next request repeats.
   */
  cacheMark?: LanguageModelV3Message['providerOptions'];
  /** The subset of JSON Schema that the provider takes. Absent: all of it. */
  schemas?: Parameters<typeof schemaForProvider>[1];
  /** The ids of calls that the model takes. */
  ids: IdForm;
  /** What the provider's package gets with each tool, such as `strict: false`. */
  tool?: Pick<SdkTool, 'strict'>;
}

/**
 * The conversation as the provider package takes it. An empty reply is left out, because providers refuse empty
 * messages.
 */
function toPrompt({ instructions, messages }: ModelRequest, options: PromptOptions): LanguageModelV3Prompt {
  const system: LanguageModelV3Message[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const said = withFittingIds(messages, options.ids)
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
    content: restoredParts(text, calls, readOpaque(opaque, by)) ?? [...textParts(text), ...calls],
  };
}

function textParts(text: string): { type: 'text'; text: string }[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function toSdkCall({ id, name, arguments: raw }: ModelCall, madeUp: string): SdkCall {
  return { type: 'tool-call', toolCallId: id ?? madeUp, toolName: name, input: toInput(raw) };
}

/**
 * Arguments of an earlier call. Servers parse them and refuse the whole conversation unless they are a JSON object, so
 * any other text is sent as `{"unreadable_arguments": text}`. The model sees its own text beside the error.
 */
function toInput(raw: string) {
  if (raw.trim() === '') return {};
  const value = parseJson(raw);
  return isObject(value) ? value : { unreadable_arguments: raw };
}

/** The tools as the provider package takes them. */
function toSdkTools(tools: ModelRequest['tools'], { schemas, tool }: PromptOptions): SdkTool[] {
  return tools.map(({ function: { name, description, parameters } }) => {
    const inputSchema: SdkTool['inputSchema'] = schemaForProvider(parameters, schemas);
    return { type: 'function', name, description, inputSchema, ...tool };
  });
}
