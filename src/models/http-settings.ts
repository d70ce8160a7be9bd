import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import { isSecretName } from '../contract/text/redact';
import { parseDuration } from '../tools/option-values';

/** The properties that all models of one kind share. A kind is, for example, `openaiCompatible`. */
export interface HttpModelKind {
  /** The name of the function that the user called, such as `openaiCompatible`. Every message begins with it. */
  name: string;
  /** The address that is used if the options have no `baseUrl`. @default the option is required */
  baseUrl?: string;
  /**
   * Environment variables that may hold the key. If the options have no `apiKey`, the first variable that is set is
   * used.
   * @default no key is sent
   */
  keys?: readonly string[];
  /** Media types of files that models of this kind take. @default none */
  takes?: readonly string[];
  /** @default `<host>/<model>` */
  id?: (model: string) => string;
}

/** The options that all kinds of models share. */
export const HTTP_MODEL_OPTIONS = {
  /** The model's name, as the server knows it. */
  model: z.string().min(1),
  /** The key itself, or the environment variable that has it. */
  apiKey: z.union([z.string(), z.strictObject({ env: z.string().min(1) })]).optional(),
  /** Headers of every request. Secrets in these headers are kept out of messages, too. */
  headers: z.record(z.string(), z.string()).optional(),
  /**
   * The most time for one request, headers and body: milliseconds, or text such as `'2 minutes'`. @default 5 minutes
   */
  timeout: z.union([z.number(), z.string()]).optional(),
  /**
   * Whether to ask for the reply as a stream. With or without a stream, the reply is used only when all of it has
   * arrived. A stream shows the words to people who watch, and keeps the connection busy: some gateways close silent
   * connections, and some models think longer than five minutes. Without a stream, a reply is one JSON text, with the
   * id of each call as the server wrote it.
   *
   * @default true if somebody can watch, as in every worker
   */
  stream: z.boolean().optional(),
  /** The id that the timeline shows. */
  id: z.string().min(1).optional(),
  /**
   * Media types of the files that the model takes, such as `application/pdf`. A text such as `image/*` stands for a
   * whole kind.
   *
   * @default what the provider's models usually take: images and PDF, with `google` also sound and video; none for `openaiCompatible`
   */
  takes: z
    .array(z.string().regex(/^[a-z]+\/(\*|[a-z0-9.+-]+)$/, 'is not a media type'))
    .readonly()
    .optional(),
};

/** The options of every model behind an HTTP API. */
interface HttpModelOptions extends z.input<z.ZodObject<typeof HTTP_MODEL_OPTIONS>> {}

/** Checks the options of a kind against its schema, which includes `HTTP_MODEL_OPTIONS`. */
export function parseOptions<T>({ name }: HttpModelKind, schema: z.ZodType<T>, options: unknown): T {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw invalid(`${name}: ${z.prettifyError(parsed.error)}`);
}

/**
 * Checks the options and reads the key.
 *
 * @throws CountersignError `config_invalid` that says what to set; it never shows the key or a header's value.
 */
export function toSettings(kind: HttpModelKind, options: HttpModelOptions & { baseUrl?: string }) {
  const { model, headers = {}, timeout = '5 minutes', stream, id } = options;
  const url = checkUrl(kind, options.baseUrl ?? kind.baseUrl ?? '');
  const apiKey = readKey(kind, options);
  checkHeaders(kind, headers);
  return {
    id: id ?? kind.id?.(model) ?? `${url.host}/${model}`,
    baseUrl: url.href,
    model,
    apiKey,
    headers,
    timeoutMs: checkTimeout(kind, timeout),
    /** Undefined: a stream is used if somebody takes the words. */
    stream,
    takes: options.takes ?? kind.takes ?? [],
    /** Texts that no message may show. */
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...secretHeaders(headers)],
  };
}

/** The options, checked and with defaults. */
export type HttpModelSettings = ReturnType<typeof toSettings>;

function checkUrl({ name }: HttpModelKind, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalid(`${name}: baseUrl is not an http(s) URL`, 'Write it like https://api.openai.com/v1');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(
      `${name}: baseUrl has a user, password, query or fragment`,
      'Put secrets into apiKey or headers',
    );
  }
  return url;
}

/** Reads the key. `apiKey: process.env.X` without that variable must not mean "no key". */
function readKey(kind: HttpModelKind, options: HttpModelOptions): string | undefined {
  if (!('apiKey' in options) && kind.keys === undefined) return undefined;
  const { apiKey } = options;
  const names = isObject(apiKey) ? [apiKey.env] : 'apiKey' in options ? [] : (kind.keys ?? []);
  const given = typeof apiKey === 'string' ? [apiKey] : names.map((name) => process.env[name]);
  const key = given.map((text) => text?.trim()).find((text) => text !== undefined && text !== '');
  if (key === undefined) throw missingKey(kind, names);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw invalid(`${kind.name}: the API key has characters that a header cannot carry`);
  return key;
}

function missingKey({ name }: HttpModelKind, variables: readonly string[]): CountersignError {
  const [first] = variables;
  return first === undefined
    ? invalid(
        `${name}: apiKey is empty`,
        "Write apiKey: { env: 'NAME' } and set that environment variable, or leave apiKey out",
      )
    : invalid(
        `${name}: the environment variable ${variables.join(' or ')} is not set`,
        `Set ${first} to the API key before the worker starts`,
      );
}

function checkHeaders({ name: kind }: HttpModelKind, headers: Record<string, string>) {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      // The error of `Headers` quotes the value, which may be a secret.
      throw invalid(`${kind}: the header ${JSON.stringify(name)} has a name or value that HTTP cannot carry`);
    }
  }
}

/** Headers that hold a secret under a shorter name than `isSecretName` knows. */
const SECRET_HEADER = /auth|key/i;

function secretHeaders(headers: Record<string, string>) {
  return Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name) || isSecretName(name))
    .flatMap(([, value]) => [value, ...value.split(/\s+/).filter((word) => word.length >= 8)]);
}

/** No reply is worth a longer wait, and Node's timers end at 24 days. */
const LONGEST_MS = 24 * 3600 * 1000;

function checkTimeout({ name }: HttpModelKind, timeout: number | string) {
  const ms = parseDuration(timeout);
  if (ms >= 1 && ms <= LONGEST_MS) return ms;
  throw invalid(
    `${name}: timeout ${JSON.stringify(timeout)} is not a time between 1 ms and a day`,
    "Write milliseconds or text such as '2 minutes'",
  );
}

function invalid(message: string, hint?: string) {
  return new CountersignError('config_invalid', message, { hint });
}
