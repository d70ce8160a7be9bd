import { defined } from '../contract/defined';
import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from '@ai-sdk/provider';
import { hideSecrets } from '../contract/text/redact';
import { errorMessage } from '../contract/errors';
import { RETRIED_FAILURES } from '../contract/names';
import type { Usage } from '../contract/spending/usage';
import { ModelError, type ModelErrorKind } from './model';
import { isObject, parseJson } from '../contract/json';
import { proxyFault } from '../system/proxies';
import { refusalOf } from './refusal';

/** The values that the mapping needs besides the error. */
interface ErrorContext {
  /** The model's id. Every message begins with it. */
  model: string;
  /** Texts that must not be seen in any message. */
  secrets: readonly string[];
  /** Whether the caller ended the request. If so, any error may be thrown. */
  ended?: boolean;
}

interface Fault {
  kind: ModelErrorKind;
  /** The failure in our own words. */
  what: string;
  /** The provider's own words about the failure. */
  words?: string;
  headers?: Record<string, string>;
  usage?: Usage;
  /** The time that the body asks to wait, in milliseconds. */
  waitMs?: number;
}

/**
 * Maps whatever a provider's client throws to a ModelError. There is only this one map.
 *
 * | what | kind | retried |
 * |---|---|---|
 * | 429 | `rate_limit` | yes, after `retry-after` |
 * | 408, 504, time over, aborted | `timeout` | yes |
 * | other 5xx, 409, a body that is JSON but no reply | `server` | yes, after `retry-after` |
 * | no connection or no proxy, a cut body or stream, a body that is not JSON | `network` | yes |
 * | 401, 402, 403, a spent quota | `auth` | no |
 * | content filter, refusal | `refused` | no |
 * | a redirect, other 4xx, no such host, a proxy that refuses | `request` | no |
 *
 * The cause is not kept: it holds the whole conversation, and an error travels into history.
 */
export function toModelError(error: unknown, context: ErrorContext): ModelError {
  const {
    kind,
    what,
    words,
    headers,
    usage,
    waitMs: asked,
  } = context.ended === true
    ? ENDED
    : (known(error) ??
      brokenWay(error) ??
      brokenReply(error) ??
      answeredFault(error) ??
      streamedFault(error) ?? { kind: 'network', what: 'the request failed', words: errorMessage(error) });
  const forms = secretForms(context.secrets);
  const conceal = (text: string) => hideSecrets(text, forms);
  const quoted = words ? `: ${conceal(words).slice(0, QUOTED_CHARACTERS)}` : '';
  const retryable = RETRIED_FAILURES.some((one) => one === kind);
  const told = retryAfter(headers) ?? asked;
  const waitMs = retryable && told !== undefined ? Math.min(told, LONGEST_MS) : undefined;
  return new ModelError(kind, `${context.model}: ${conceal(what)}${quoted}`, {
    retryable,
    retryAfterMs: waitMs,
    usage,
  });
}

/** The most characters of a body that a message quotes: enough for an explanation, too little for a page of HTML. */
const QUOTED_CHARACTERS = 1000;

const ENDED: Fault = {
  kind: 'timeout',
  what: 'the request was given up: its time was over, or its turn or worker ended',
};

/** An error of our own from the code that reads a reply. The provider package may have wrapped it. */
function known(error: unknown): Fault | undefined {
  const found = causesOf(error).find((cause) => cause instanceof ModelError);
  if (found !== undefined) return { kind: found.kind, what: found.message, usage: found.options.usage };
  const fault = proxyFault(error);
  return fault && { kind: fault.data['retryable'] === true ? 'network' : 'request', what: fault.message };
}

const TIMEOUT_CODES = [
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
];

/** The fault for a connection that broke, whatever status arrived before. */
function brokenWay(error: unknown): Fault | undefined {
  const causes = causesOf(error);
  if (causes.some(({ name }) => name === 'AbortError' || name === 'TimeoutError')) {
    return { kind: 'timeout', what: 'the model did not answer in time' };
  }
  const code = causes.map(systemCodeOf).find((found) => found !== undefined);
  if (code === undefined) return undefined;
  if (code === 'ENOTFOUND') {
    const words = causes.at(-1)?.message;
    return { kind: 'request', what: 'there is no such host; look at baseUrl', words };
  }
  if (TIMEOUT_CODES.includes(code))
    return { kind: 'timeout', what: `the model did not answer in time (${code})` };
  return { kind: 'network', what: `the connection to the model failed (${code})` };
}

/** The fault for bytes that are not a reply, or not a complete reply. */
function brokenReply(error: unknown): Fault | undefined {
  const explanation = APICallError.isInstance(error) ? explain(error.responseBody) : undefined;
  if (explanation?.status !== undefined || explanation?.code !== undefined) return undefined;
  const causes = causesOf(error);
  const refusal = causes.map((cause) =>
    TypeValidationError.isInstance(cause) ? refusalOf(cause.value) : '',
  );
  const words = refusal.find((text) => text !== '');
  if (words !== undefined) return { kind: 'refused', what: 'the model refused', words };
  if (causes.some((cause) => JSONParseError.isInstance(cause))) {
    return { kind: 'network', what: 'the reply is not JSON; it may have been cut' };
  }
  if (causes.some((cause) => TypeValidationError.isInstance(cause))) {
    return { kind: 'server', what: 'the reply is JSON, but not of the form that was asked for' };
  }
  const invalid = causes.find((cause) => InvalidResponseDataError.isInstance(cause));
  if (invalid === undefined) return undefined;
  // The provider gives no data if a stream ended without a finish reason.
  const cut = InvalidResponseDataError.isInstance(invalid) && invalid.data === undefined;
  return { kind: cut ? 'network' : 'server', what: 'the reply is not complete', words: invalid.message };
}

/** The fault for an error answer of the server, by its status or inside a body of status 200. */
function answeredFault(error: unknown): Fault | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const explanation = explain(error.responseBody);
  const { statusCode = 0, responseHeaders: headers } = error;
  const status = statusCode >= 300 ? statusCode : (explanation.status ?? statusCode);
  if (status < 300 && explanation.code === undefined) {
    const what = statusCode === 0 ? 'the request failed' : 'the reply could not be read';
    return { kind: 'network', what, words: error.message };
  }
  const said = explanation.message ?? error.message;
  const words =
    status === 404 ? `${said} (${error.url}; look whether baseUrl is whole, such as https://host/v1)` : said;
  return { ...statusFault(status, explanation), words, headers };
}

/** The fault for an error event inside a stream. Such an event has no status of its own. */
function streamedFault(error: unknown): Fault | undefined {
  if (isError(error) || typeof error !== 'object' || error === null) return undefined;
  const explanation = explain(JSON.stringify({ error }));
  return {
    ...statusFault(explanation.status ?? 0, explanation),
    ...defined({ words: explanation.message }),
  };
}

function statusFault(status: number, explanation: Explanation): Fault {
  return { ...kindFault(status, explanation), ...defined({ waitMs: explanation.waitMs }) };
}

function kindFault(status: number, { code }: Explanation): Fault {
  const what = `the model's server answered ${status >= 300 ? `HTTP ${status}` : 'with an error'}`;
  const filtered = code !== undefined && FILTERED.test(code);
  if (filtered) return { kind: 'refused', what: `the provider's content filter refused (${code})` };
  if (status >= 300 && status < 400)
    return { kind: 'request', what: `${what}, a redirect; set baseUrl to where it leads` };
  const isKey = status === 400 && code !== undefined && /\bapi_key_/i.test(code);
  const isSpent = status === 429 && code !== undefined && SPENT.test(code);
  const kind = isKey || isSpent ? 'auth' : status >= 300 ? kindOfStatus(status) : kindOfCode(code ?? '');
  return { kind, what: kind === 'auth' ? `${what}; check the API key and what it may use` : what };
}

const FILTERED = /content_?(?:filter|policy)|responsible_?ai/i;

/** Codes of an account without credit, which no waiting fills. */
const SPENT = /insufficient_(?:quota|balance|credit)|billing|credits?_/i;

function kindOfStatus(status: number): ModelErrorKind {
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 409 || status >= 500) return 'server';
  return [401, 402, 403].includes(status) ? 'auth' : 'request';
}

const CODES: readonly [RegExp, ModelErrorKind][] = [
  [/rate_?limit|too_?many|quota|throttl/i, 'rate_limit'],
  [/time_?out|deadline/i, 'timeout'],
  [/api_?key|auth|permission|forbidden|billing/i, 'auth'],
  [/invalid|context_length|not_?found|unsupported|too_large/i, 'request'],
];

function kindOfCode(code: string): ModelErrorKind {
  return CODES.find(([pattern]) => pattern.test(code))?.[1] ?? 'server';
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let at = error; isError(at) && !causes.includes(at); at = at.cause) causes.push(at);
  return causes;
}

// Errors of fetch may come from another realm, where instanceof fails.
function isError(value: unknown): value is Error {
  if (value instanceof Error) return true;
  return isObject(value) && typeof value['message'] === 'string' && typeof value['name'] === 'string';
}

/** The shortest secret that is replaced. Shorter secrets would remove ordinary words from messages. */
const SHORTEST = 4;

/**
 * The forms in which a text may hold the secrets: unchanged, and written for a URL, JSON or Base64. The longest comes
 * first.
 */
export function secretForms(secrets: readonly string[]): string[] {
  return secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    ])
    .sort((a, b) => b.length - a.length);
}

/** The explanation in the body of an error. */
interface Explanation {
  message?: string;
  /** A word such as `content_filter` or `invalid_api_key`. */
  code?: string;
  /** An HTTP status, if the body of a reply with another status names one. */
  status?: number;
  /** Milliseconds to wait, if the body names a time. */
  waitMs?: number;
}

/**
 * Reads the body of an error in the forms that servers use: `{error: {message, type, code}}`, `{error: "…"}`,
 * `{message}`, `{detail}`, or a list of one of them. Never throws. Empty if the body explains nothing.
 */
function explain(body: string | undefined): Explanation {
  const value = first(parseJson(body ?? ''));
  if (!isObject(value)) return {};
  const inner = first(value['error'] ?? value);
  if (typeof inner === 'string') return { message: inner, code: 'error' };
  return isObject(inner) ? explainObject(inner, inner !== value) : {};
}

function explainObject(inner: Record<string, unknown>, isError: boolean): Explanation {
  const message = [inner['message'], inner['detail']].find((text) => typeof text === 'string');
  const status = [inner['code'], inner['status']].map(Number).find((number) => number >= 400 && number < 600);
  const { reason, waitMs } = detailsOf(inner['details']);
  const words = [innerCode(inner), reason, inner['code'], inner['type']].filter(
    (word) => typeof word === 'string',
  );
  const code = words.join(' ') || (isError ? 'error' : undefined);
  return { message, code, status, waitMs };
}

/** Details that Google adds to its message: a reason in one word, and `retryDelay` such as `21.5s`. */
function detailsOf(details: unknown): { reason?: unknown; waitMs?: number } {
  const list = Array.isArray(details) ? details.filter(isObject).slice(0, 20) : [];
  const reason = list.map((one) => one['reason']).find((word) => typeof word === 'string');
  const delay = list.map((one) => one['retryDelay']).find((text) => typeof text === 'string');
  return { reason, waitMs: secondsOf(delay?.replace(/s$/, '')) };
}

function innerCode(inner: Record<string, unknown>) {
  const nested = inner['innererror'];
  return isObject(nested) ? nested['code'] : undefined;
}

/** The code of an error of the system or of fetch. Undefined for other codes. */
function systemCodeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

/**
 * The longest wait that is accepted. A longer wait is a mistake of the server, or a limit that does not end within a
 * day.
 */
const LONGEST_MS = 24 * 3600 * 1000;

/** The form of an HTTP date; `Date.parse` accepts far more. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{8,30} GMT$/;

/**
 * The time that a server asks to wait, in milliseconds, at most a day: `retry-after-ms`, or `retry-after` in seconds or
 * as a date. Undefined if it gives no readable time.
 *
 * @param headers Names in lower case.
 */
function retryAfter(headers: Record<string, string> = {}): number | undefined {
  const wait = numberOf(headers['retry-after-ms']) ?? secondsOf(headers['retry-after']);
  return wait === undefined ? undefined : Math.min(Math.ceil(wait), LONGEST_MS);
}

function secondsOf(value: string | undefined): number | undefined {
  const seconds = numberOf(value);
  if (seconds !== undefined) return seconds * 1000;
  if (value === undefined || !HTTP_DATE.test(value)) return undefined;
  const wait = Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function numberOf(value: string | undefined) {
  return value !== undefined && /^\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : undefined;
}
