import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Prompt } from '@ai-sdk/provider';
import { defined } from '../contract/defined';
import { isJsonObject, type JsonObject } from '../contract/json';
import { hideSecrets, redactSecrets } from '../contract/text/redact';
import { outgoingFetch } from '../system/proxies';
import type { HttpModelSettings } from './http-settings';
import { type Model, ModelError, type ModelReply, type ModelRequest } from './model';
import { secretForms, toModelError } from './provider-errors';
import { type PromptOptions, toPrompt, toSdkTools } from './sdk-messages';
import { collectReply, toReply } from './sdk-reply';

/** The options with which `sdkModel` makes a `Model` from a model of the AI SDK. */
export interface SdkModelOptions extends PromptOptions {
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

function aboutOf({ settings: { baseUrl, secrets }, provider, call }: SdkModelOptions): string {
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
function limitedFetch(limit = REPLY_BYTES): typeof outgoingFetch {
  return async (input, init) => {
    // A redirect would send the conversation to a server that is not configured.
    const response = await outgoingFetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    if (response.ok) refusePage(response, input);
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limiter(limit)), { status, statusText, headers });
  };
}

/** A page is what a proxy or another server answers. */
function refusePage({ headers }: Response, input: Parameters<typeof outgoingFetch>[0]): void {
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
function lacksThoughts({ prompt, providerOptions = {} }: LanguageModelV3CallOptions): boolean {
  const isAsked = Object.values(providerOptions).some((settings) => {
    const thinking: unknown = settings['thinking'];
    return isJsonObject(thinking) && thinking['type'] === 'enabled';
  });
  return isAsked && hasBareCalls(prompt);
}

/** Whether a step since the last words of a person, or the last step, begins without thoughts and has calls. */
function hasBareCalls(prompt: LanguageModelV3Prompt): boolean {
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
function wantsThoughts(error: ModelError, { prompt }: LanguageModelV3CallOptions): boolean {
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
