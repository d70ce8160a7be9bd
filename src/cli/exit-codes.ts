import { CommanderError } from 'commander';
import { CountersignError, type ErrorCode } from '../contract/errors';
import { Interrupted } from './review/terminal';

/** The exit codes of commands. Scripts rely on them. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  noServer: 5,
  waiting: 6,
  /** 128 + SIGINT: the person stopped watching, and the turn continues. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_CODE: Readonly<Record<ErrorCode, ExitCode>> = {
  usage: EXIT.usage,
  config_invalid: EXIT.usage,
  not_found: EXIT.notFound,
  exists: EXIT.usage,
  refused: EXIT.refused,
  full: EXIT.refused,
  unknown_call: EXIT.refused,
  already_decided: EXIT.refused,
  stale_args: EXIT.refused,
  validation: EXIT.refused,
  expired: EXIT.refused,
  malformed: EXIT.refused,
  cancelled: EXIT.refused,
  no_server: EXIT.noServer,
  server_failed: EXIT.noServer,
  server_busy: EXIT.noServer,
  not_ready: EXIT.noServer,
  still_waiting: EXIT.waiting,
  not_installed: EXIT.failed,
  failed: EXIT.failed,
  bad_history: EXIT.failed,
  key_missing: EXIT.failed,
  payload_refused: EXIT.failed,
  file_failed: EXIT.failed,
  proxy_failed: EXIT.failed,
  audit_broken: EXIT.failed,
  signature_needed: EXIT.failed,
  signed_out: EXIT.failed,
  not_allowed: EXIT.failed,
  too_large: EXIT.failed,
  too_many_attempts: EXIT.failed,
  sign_in_failed: EXIT.failed,
  gate_missing: EXIT.failed,
  gate_refused: EXIT.failed,
};

/** The exit code for an error. This is the only place that maps errors to exit codes. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof CountersignError) return BY_CODE[error.code];
  // Commander throws this error for help and version.
  if (error instanceof CommanderError) return EXIT.done;
  return EXIT.failed;
}
