/** The fields that we read from one error. Anything can be thrown, so no field has a known type. */
interface ErrorFacts {
  name?: unknown;
  message?: unknown;
  code?: unknown;
}

/** Names of errors for a connection that broke or was given up. The other side may still have acted. */
const NAMES: readonly unknown[] = ['AbortError', 'TimeoutError', 'CanceledError'];

/** Messages of Node's `fetch` when it got no answer. The request may have arrived. */
const FETCH_MESSAGES: readonly unknown[] = ['fetch failed', 'terminated'];

/** Messages of the Postgres client that come without a code. */
const MESSAGES: readonly unknown[] = ['Connection terminated unexpectedly'];

/** What gRPC and Connect write for UNAVAILABLE and DEADLINE_EXCEEDED. The request may have arrived. */
const GRPC_MESSAGE = /^(14 UNAVAILABLE|4 DEADLINE_EXCEEDED|\[(unavailable|deadline_exceeded)\])(?!\w)/;

const CODES = [
  'ECONNRESET|ECONNABORTED|EPIPE|EPROTO|ETIMEDOUT|ENETRESET|EHOSTUNREACH|ENETUNREACH',
  'UND_ERR_\\w+|HPE_\\w+|ERR_HTTP2_\\w+|ERR_SSL_\\w+|ERR_STREAM_PREMATURE_CLOSE|ERR_STREAM_DESTROYED',
  'ERR_CANCELED|ERR_NETWORK|ERR_BAD_RESPONSE',
  'PROTOCOL_CONNECTION_LOST',
].join('|');

const CODE = new RegExp(`^(${CODES})$`);
const CODE_IN_TEXT = new RegExp(`\\b(${CODES})\\b`);

/** Codes of errors that mean that the other side was never reached. */
export const UNREACHED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'proxy_failed'];

/** Whether one error says that a connection broke or was given up. */
export function saysBroken({ name, message, code }: ErrorFacts): boolean {
  if (typeof code === 'string' && CODE.test(code)) return true;
  if (NAMES.includes(name) || MESSAGES.includes(message)) return true;
  if (typeof message === 'string' && GRPC_MESSAGE.test(message)) return true;
  if (name === 'FetchError') return !UNREACHED.includes(code);
  return name === 'TypeError' && FETCH_MESSAGES.includes(message);
}

/**
 * `saysBroken` for an error that crossed Temporal, which keeps only its name and its message. Codes are in the message.
 */
export function saysBrokenInText({ name, message }: { name: string; message: string }): boolean {
  return name === 'TransportError' || CODE_IN_TEXT.test(message) || saysBroken({ name, message });
}
