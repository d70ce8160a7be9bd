import { defined } from '../contract/defined';
import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { type Model, ModelError, type ModelReply, type ModelRequest } from './model';
import { toModelError } from './openai-errors';
import { collectReply, toPrompt, toReply, toSdkTools } from './openai-messages';
import { isSecretName } from '../contract/text/redact';
import { CountersignError } from '../contract/errors';
import { parseDuration } from '../tools/options';

/**
 * A model behind any server that speaks OpenAI's chat completions, through the AI SDK's provider package.
 * One request an attempt: retries are Temporal's. Failures are ModelErrors, see `toModelError`. A reply is used only when
 * all of it has arrived. Arguments stay the raw text of the model.
 * Neither the returned object nor a message shows the key.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there.
 * @example openaiCompatible({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5', apiKey: { env: 'OPENAI_API_KEY' } })
 */
export function openaiCompatible(options: OpenAICompatibleOptions): Model {
  const settings = toSettings(options);
  const model = toProvider(settings);
  return {
    id: settings.id,
    async generate(request) {
      try {
        return await ask(model, settings, request);
      } catch (error) {
        throw toModelError(error, {
          model: settings.id,
          secrets: settings.secrets,
          ended: request.signal.aborted,
        });
      }
    },
  };
}

function toProvider({ baseUrl, apiKey, headers, model }: Settings): LanguageModelV3 {
  const provider = createOpenAICompatible({
    name: 'countersign',
    baseURL: baseUrl,
    headers,
    includeUsage: true,
    fetch: limitedFetch(),
    ...defined({ apiKey }),
  });
  return provider.chatModel(model);
}

async function ask(model: LanguageModelV3, settings: Settings, request: ModelRequest): Promise<ModelReply> {
  const call: LanguageModelV3CallOptions = {
    prompt: toPrompt(request),
    tools: toSdkTools(request.tools),
    abortSignal: AbortSignal.any([request.signal, AbortSignal.timeout(settings.timeoutMs)]),
  };
  const { onText } = request;
  if (!(settings.stream ?? onText !== undefined)) return toReply(await model.doGenerate(call));
  const { stream, response } = await model.doStream({ ...call, includeRawChunks: true });
  if (/^application\/json\b/i.test(response?.headers?.['content-type'] ?? '')) throw noStream();
  return collectReply(stream, onText);
}

function noStream(): ModelError {
  const message = 'the server answers with JSON where a stream was asked for; give the model `stream: false`';
  return new ModelError('server', message, { retryable: true });
}

/** The largest reply: many times what a step can hold, and small enough for a worker's memory. */
const REPLY_BYTES = 64 * 1024 * 1024;

/** A `fetch` that follows no redirect, and that fails and closes the connection when a body exceeds the limit. */
function limitedFetch(limit = REPLY_BYTES): typeof fetch {
  return async (input, init) => {
    // A redirect would send the conversation to a server that is not configured.
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limiter(limit)), { status, statusText, headers });
  };
}

function limiter(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > limit) controller.error(tooLarge(limit));
      else controller.enqueue(chunk);
    },
  });
}

function tooLarge(limit: number): ModelError {
  return new ModelError('server', `the reply has more than ${limit} bytes`, { retryable: true });
}

/** What `openaiCompatible` takes. */
export interface OpenAICompatibleOptions {
  /** Up to and without `/chat/completions`, such as `https://api.openai.com/v1`. */
  baseUrl: string;
  /** The model's name, as the server knows it. */
  model: string;
  /** The key itself, or the environment variable that has it. @default none is sent, as local servers need none */
  apiKey?: string | { env: string };
  /** Sent with every request; secrets in them are kept out of messages too. */
  headers?: Record<string, string>;
  /** The whole of one request, headers and body: milliseconds, or text such as `'2 minutes'`. @default 5 minutes */
  timeout?: number | string;
  /**
   * Ask for the reply as a stream. Either way the reply is used only when all of it has arrived; a stream shows its words
   * to people who watch, and keeps the connection busy, for gateways that close silent ones and for models that think
   * longer than five minutes. Off, a reply is one JSON text, with each call's id as the server wrote it.
   *
   * @default true where somebody can watch, as in every worker
   */
  stream?: boolean;
  /** Shown in the timeline. @default `<host>/<model>` */
  id?: string;
}

/** The options, checked and with defaults. */
interface Settings {
  id: string;
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  headers: Record<string, string>;
  timeoutMs: number;
  /** Absent: where somebody takes the words. */
  stream: boolean | undefined;
  /** Texts that no message may show. */
  secrets: string[];
}

const schema = z.strictObject({
  baseUrl: z.string(),
  model: z.string().min(1),
  apiKey: z.union([z.string(), z.strictObject({ env: z.string().min(1) })]).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  timeout: z.union([z.number(), z.string()]).optional(),
  stream: z.boolean().optional(),
  id: z.string().min(1).optional(),
});

/**
 * Checks the options and reads the key.
 *
 * @throws CountersignError `config_invalid` that says what to set; it never shows the key or a header's value.
 */
export function toSettings(options: OpenAICompatibleOptions): Settings {
  const parsed = schema.safeParse(options);
  if (!parsed.success) throw invalid(`openaiCompatible: ${z.prettifyError(parsed.error)}`);
  const { baseUrl, model, headers = {}, timeout = '5 minutes', stream, id } = parsed.data;
  const url = checkUrl(baseUrl);
  const apiKey = readKey(options);
  checkHeaders(headers);
  return {
    id: id ?? `${url.host}/${model}`,
    baseUrl: url.href,
    model,
    apiKey,
    headers,
    timeoutMs: checkTimeout(timeout),
    stream,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...secretHeaders(headers)],
  };
}

function checkUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalid(
      'openaiCompatible: baseUrl is not an http(s) URL',
      'Write it like https://api.openai.com/v1',
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(
      'openaiCompatible: baseUrl has a user, password, query or fragment',
      'Put secrets into apiKey or headers',
    );
  }
  return url;
}

/** `apiKey: process.env.X` without that variable must not mean "no key". */
function readKey(options: OpenAICompatibleOptions): string | undefined {
  if (!('apiKey' in options)) return undefined;
  const { apiKey } = options;
  const name = typeof apiKey === 'object' ? apiKey.env : undefined;
  const key = (typeof apiKey === 'object' ? process.env[apiKey.env] : apiKey)?.trim();
  if (key === undefined || key === '') throw missingKey(name);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw invalid('openaiCompatible: the API key has characters that a header cannot carry');
  return key;
}

function missingKey(name: string | undefined): CountersignError {
  return name === undefined
    ? invalid(
        'openaiCompatible: apiKey is empty',
        "Write apiKey: { env: 'NAME' } and set that environment variable, or leave apiKey out",
      )
    : invalid(
        `openaiCompatible: the environment variable ${name} is not set`,
        `Set ${name} to the API key before the worker starts`,
      );
}

function checkHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      // The error of Headers quotes the value.
      throw invalid(
        `openaiCompatible: the header ${JSON.stringify(name)} has a name or value that HTTP cannot carry`,
      );
    }
  }
}

/** Headers that hold a secret under a shorter name than `isSecretName` knows. */
const SECRET_HEADER = /auth|key/i;

function secretHeaders(headers: Record<string, string>): string[] {
  return Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name) || isSecretName(name))
    .flatMap(([, value]) => [value, ...value.split(/\s+/).filter((word) => word.length >= 8)]);
}

/** No reply is worth a longer wait, and Node's timers end at 24 days. */
const LONGEST_MS = 24 * 3600 * 1000;

function checkTimeout(timeout: number | string): number {
  const ms = parseDuration(timeout);
  if (ms >= 1 && ms <= LONGEST_MS) return ms;
  throw invalid(
    `openaiCompatible: timeout ${JSON.stringify(timeout)} is not a time between 1 ms and a day`,
    "Write milliseconds or text such as '2 minutes'",
  );
}

function invalid(message: string, hint?: string): CountersignError {
  return new CountersignError('config_invalid', message, defined({ hint }));
}
