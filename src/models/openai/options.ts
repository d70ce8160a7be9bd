import { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import { readTimeout } from './timeout';

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
   * Ask for the reply as a stream. Either way the reply is used only when all of it has arrived; a stream only keeps the
   * connection busy, for gateways that close silent ones and for models that think longer than five minutes.
   * Off, a reply is one JSON text, with each call's id as the server wrote it.
   *
   * @default false
   */
  stream?: boolean;
  /** Shown in the timeline. @default `<host>/<model>` */
  id?: string;
}

/** The options, checked and with defaults. */
export interface Settings {
  id: string;
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  headers: Record<string, string>;
  timeoutMs: number;
  stream: boolean;
  /** What no message may show. */
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
  const { baseUrl, model, headers = {}, timeout = '5 minutes', stream = false, id } = parsed.data;
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
    throw invalid('openaiCompatible: baseUrl is no http(s) URL', 'Write it like https://api.openai.com/v1');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(
      'openaiCompatible: baseUrl has a user, password, query or fragment',
      'Put secrets into apiKey or headers',
    );
  }
  return url;
}

/** A key that was written as `process.env.X` and is not there must not mean "no key". */
function readKey(options: OpenAICompatibleOptions): string | undefined {
  if (!('apiKey' in options)) return undefined;
  const { apiKey } = options;
  const name = typeof apiKey === 'object' ? apiKey.env : undefined;
  const key = (typeof apiKey === 'object' ? process.env[apiKey.env] : apiKey)?.trim();
  if (key === undefined || key === '') throw missingKey(name);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw invalid('openaiCompatible: the API key has characters that no header can carry');
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

const SECRET_HEADER = /auth|key|token|secret|cookie|password|credential/i;

function secretHeaders(headers: Record<string, string>): string[] {
  return Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name))
    .flatMap(([, value]) => [value, ...value.split(/\s+/).filter((word) => word.length >= 8)]);
}

function checkTimeout(timeout: number | string): number {
  const ms = readTimeout(timeout);
  if (ms !== undefined) return ms;
  throw invalid(
    `openaiCompatible: timeout ${JSON.stringify(timeout)} is no time between 1 ms and a day`,
    "Write milliseconds or text such as '2 minutes'",
  );
}

function invalid(message: string, hint?: string): CountersignError {
  return new CountersignError('config_invalid', message, hint === undefined ? {} : { hint });
}
