import { REFUSAL_CODES } from './decision';
import { isObject } from './json';

/**
 * Every code that a CountersignError can have. Each code has a page at `docs/errors/<code>.md`. Codes of call results
 * (`ToolErrorCode`) have pages there too.
 */
export const ERROR_CODES = [
  'usage',
  'not_installed',
  'config_not_found',
  'config_invalid',
  'tool_invalid',
  'agent_invalid',
  'agent_not_found',
  'turn_not_found',
  'call_not_found',
  'ambiguous_id',
  'turn_exists',
  'no_server',
  'server_failed',
  'server_busy',
  'answer_too_large',
  'namespace_missing',
  'not_ready',
  'attributes_missing',
  'worker_failed',
  'sdk_mismatch',
  'decision_refused',
  'fork_refused',
  'reset_refused',
  'given_up',
  'editor_failed',
  'notify_failed',
  'turn_failed',
  'session_not_found',
  'still_waiting',
  'signals_full',
  'sandbox_unavailable',
  'outside_root',
  'workspace',
  'point_not_found',
  'bad_history',
  'newer_version',
  'not_a_turn',
  'replay_failed',
  'encryption_invalid',
  'key_missing',
  'payload_refused',
  'model_failed',
  'file_failed',
  'proxy_failed',
  'login_failed',
  'audit_invalid',
  'audit_broken',
  'audit_signature',
  'audit_unsigned',
  'audit_key',
  'users_invalid',
  'approvers_invalid',
  'policy_invalid',
  'inbox_key',
  'ssh_keygen_missing',
  'signing_key',
  'signing_failed',
  'signature_needed',
  'user_not_found',
  'signed_out',
  'forbidden',
  'not_allowed',
  'not_found',
  'not_json',
  'too_large',
  'too_many_attempts',
  'issuer_unreachable',
  'issuer_refused',
  'issuer_clock',
  'id_token_invalid',
  'sign_in_stale',
  'person_unknown',
  'schedule_exists',
  'schedule_not_found',
  'message_changed',
  'build_not_found',
  'build_refused',
  'session_closing',
  'session_full',
  'nothing_to_compact',
  'pauses_full',
  'pause_not_found',
  'grant_refused',
  'grants_full',
  'grant_not_found',
  'control_unavailable',
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
