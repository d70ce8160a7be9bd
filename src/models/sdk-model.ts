import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { defined } from '../contract/defined';
import { hideSecrets, redactSecrets } from '../contract/text/redact';
import { outgoingFetch } from '../system/proxies';
import type { HttpModelSettings } from './http-settings';
import { type Model, ModelError, type ModelReply, type ModelRequest } from './model';
import { secretForms, toModelError } from './provider-errors';
import { type PromptOptions, toPrompt, toSdkTools } from './sdk-messages';
import { lacksThoughts, wantsThoughts, withoutThinking } from './thinking';
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
