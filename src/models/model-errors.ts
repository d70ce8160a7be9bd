import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from '@ai-sdk/provider';
import { codeOf, explain, type Explanation } from './openai/explanation';
import { ModelError, type ModelErrorKind } from './model';
import { retryAfter } from './openai/retry-after';
import { concealer } from './openai/secrets';

/** What the mapping needs beside the error. */
export interface ErrorContext {
  /** The model's id; begins every message. */
  model: string;
  /** Texts that must not be seen in any message. */
  secrets: readonly string[];
  /** Milliseconds since the epoch, for `retry-after` dates. @default Date.now() */
  now?: number;
  /** Whether the caller ended the request: what is thrown then may be anything. */
  ended?: boolean;
}

interface Fault {
  kind: ModelErrorKind;
  /** What happened, in our words. */
  what: string;
  /** What the provider said about it. */
  said?: string;
  headers?: Record<string, string>;
}

const RETRYABLE: readonly ModelErrorKind[] = ['rate_limit', 'timeout', 'server', 'network'];

/**
 * The one map from whatever a provider's client throws to a ModelError.
 *
 * | what | kind | retried |
 * |---|---|---|
 * | 429 | `rate_limit` | yes, after `retry-after` |
 * | 408, 504, time over, aborted | `timeout` | yes |
 * | other 5xx, 409, 425, a body that is JSON but no reply | `server` | yes, after `retry-after` |
 * | no connection, a cut body or stream, a body that is no JSON | `network` | yes |
 * | 401, 402, 403 | `auth` | no |
 * | content filter, refusal | `refused` | no |
 * | other 4xx | `request` | no |
 *
 * The cause is not kept: it holds the whole conversation, and an error travels into history.
 */
export function toModelError(error: unknown, context: ErrorContext): ModelError {
  const { kind, what, said, headers } = context.ended === true ? ENDED : faultOf(error);
  const conceal = concealer(context.secrets);
  const words = said === undefined || said === '' ? '' : `: ${conceal(said).slice(0, SAID_CHARACTERS)}`;
  const retryable = RETRYABLE.includes(kind);
  const waitMs =
    retryable && headers !== undefined ? retryAfter(headers, context.now ?? Date.now()) : undefined;
  return new ModelError(kind, `${context.model}: ${conceal(what)}${words}`, {
    retryable,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

/** Enough for an explanation, too little for a page of HTML. */
const SAID_CHARACTERS = 1000;

const ENDED: Fault = { kind: 'timeout', what: 'the request was ended by its caller' };

function faultOf(error: unknown): Fault {
  return (
    known(error) ??
    brokenWay(error) ??
    brokenReply(error) ??
    answeredFault(error) ??
    streamedFault(error) ??
    unexpected(error)
  );
}

/** Our own, from where a reply was read; the provider package may have wrapped it. */
function known(error: unknown): Fault | undefined {
  const found = causesOf(error).find((cause) => cause instanceof ModelError);
  return found === undefined ? undefined : { kind: found.kind, what: found.message };
}

const TIMEOUT_CODES = [
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
];

/** The connection broke, whatever the status was that came before. */
function brokenWay(error: unknown): Fault | undefined {
  const causes = causesOf(error);
  if (causes.some(({ name }) => name === 'AbortError' || name === 'TimeoutError')) {
    return { kind: 'timeout', what: 'the model did not answer in time' };
  }
  const code = causes.map(codeOf).find((found) => found !== undefined);
  if (code === undefined) return undefined;
  if (TIMEOUT_CODES.includes(code))
    return { kind: 'timeout', what: `the model did not answer in time (${code})` };
  return { kind: 'network', what: `the connection to the model failed (${code})` };
}

/** Bytes arrived that are no reply, or not all of it. */
function brokenReply(error: unknown): Fault | undefined {
  const said = APICallError.isInstance(error) ? explain(error.responseBody) : undefined;
  if (said?.status !== undefined || said?.code !== undefined) return undefined;
  const causes = causesOf(error);
  if (causes.some((cause) => JSONParseError.isInstance(cause))) {
    return { kind: 'network', what: 'the reply is no JSON; it may have been cut' };
  }
  if (causes.some((cause) => TypeValidationError.isInstance(cause))) {
    return { kind: 'server', what: 'the reply is JSON, but no chat completion' };
  }
  const invalid = causes.find((cause) => InvalidResponseDataError.isInstance(cause));
  if (invalid === undefined) return undefined;
  // The provider gives no data where a stream ended without a finish reason.
  const cut = InvalidResponseDataError.isInstance(invalid) && invalid.data === undefined;
  return { kind: cut ? 'network' : 'server', what: 'the reply is not complete', said: invalid.message };
}

/** The server answered with an error, by its status or inside a body of status 200. */
function answeredFault(error: unknown): Fault | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const explanation = explain(error.responseBody);
  const { statusCode = 0, responseHeaders: headers } = error;
  const status = statusCode >= 300 ? statusCode : (explanation.status ?? statusCode);
  if (status < 300 && explanation.code === undefined) {
    return { kind: 'network', what: 'the reply could not be read', said: error.message };
  }
  const said = explanation.message ?? error.message;
  return { ...statusFault(status, explanation), said, ...(headers === undefined ? {} : { headers }) };
}

/** An error event inside a stream; it has no status of its own. */
function streamedFault(error: unknown): Fault | undefined {
  if (error instanceof Error || typeof error !== 'object' || error === null) return undefined;
  const explanation = explain(JSON.stringify({ error }));
  return {
    ...statusFault(explanation.status ?? 0, explanation),
    ...(explanation.message === undefined ? {} : { said: explanation.message }),
  };
}

function statusFault(status: number, { code }: Explanation): Fault {
  const what = `the model's server answered ${status >= 300 ? `HTTP ${status}` : 'with an error'}`;
  const filtered = code !== undefined && FILTERED.test(code);
  if (filtered) return { kind: 'refused', what: `the provider's content filter refused (${code})` };
  const kind = status >= 300 ? kindOfStatus(status) : kindOfCode(code ?? '');
  return { kind, what: kind === 'auth' ? `${what}; check the API key and what it may use` : what };
}

const FILTERED = /content_?(?:filter|policy)|responsible_?ai/i;

function kindOfStatus(status: number): ModelErrorKind {
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 409 || status === 425 || status >= 500) return 'server';
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

function unexpected(error: unknown): Fault {
  return {
    kind: 'network',
    what: 'the request failed',
    said: error instanceof Error ? error.message : String(error),
  };
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let at = error; isError(at) && !causes.includes(at); at = at.cause) causes.push(at);
  return causes;
}

// Errors of fetch may come from another realm, where instanceof fails.
function isError(value: unknown): value is Error {
  return (
    value instanceof Error ||
    (typeof value === 'object' && value !== null && 'message' in value && 'name' in value)
  );
}
