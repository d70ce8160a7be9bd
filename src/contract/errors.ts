import { REFUSAL_CODES } from './decision';
import { isObject } from './json';

/**
 * Every code that a CountersignError can have. Each code has a page at `docs/errors/<code>.md`. Codes of call results
 * (`ToolErrorCode`) have pages there too.
 */
export const ERROR_CODES = [
  'usage',
  'not_installed',
  'config_invalid',
  'not_found',
  'exists',
  'refused',
  'full',
  'no_server',
  'server_failed',
  'server_busy',
  'not_ready',
  'failed',
  'still_waiting',
  'bad_history',
  'key_missing',
  'payload_refused',
  'file_failed',
  'proxy_failed',
  'audit_broken',
  'signature_needed',
  'signed_out',
  'not_allowed',
  'too_large',
  'too_many_attempts',
  'sign_in_failed',
  'gate_missing',
  'gate_refused',
  ...REFUSAL_CODES,
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The message of an error. Any other thrown value as text. Errors may come from another V8 context. */
export function errorMessage(error: unknown): string {
  const message = isObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : String(error);
}

/** A thrown value as an Error. A value that is not an Error becomes the message of a new one. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(errorMessage(thrown));
}

/**
 * The system's code of an error, such as `ENOENT`. Undefined for other errors. Errors may come from another V8 context.
 */
export function errnoOf(error: unknown): string | undefined {
  const code = isObject(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The optional parts of an error. */
interface ErrorExtras {
  /** The remedy, in one sentence. */
  hint?: string;
  /** Facts by name. The page of the code explains them. */
  data?: Record<string, unknown>;
  cause?: unknown;
}

/** The only error class. An error has a stable `code`, says what happened, and says what to do. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError';
  readonly hint: string | undefined;
  readonly data: Record<string, unknown>;

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** A text is the hint. */
    extras: string | ErrorExtras = {},
  ) {
    const { hint, data = {}, cause }: ErrorExtras = typeof extras === 'string' ? { hint: extras } : extras;
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
    this.data = data;
  }
}

/** Makes the error for a mistake on the command line. The command ends with the exit code 2. */
export function usageError(message: string, hint?: string): CountersignError {
  return new CountersignError('usage', message, { hint });
}
