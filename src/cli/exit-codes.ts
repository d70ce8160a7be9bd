import { CommanderError } from 'commander';
import { CountersignError, type ErrorCode } from '../contract/errors';
import { Interrupted } from './review/terminal';

/** What a command ends with. Scripts rely on these. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  noServer: 5,
  waiting: 6,
  /** 128 + SIGINT: the person stopped looking; the turn goes on. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_CODE: Readonly<Record<ErrorCode, ExitCode>> = {
  usage: EXIT.usage,
  config_invalid: EXIT.usage,
  tool_invalid: EXIT.usage,
  agent_invalid: EXIT.usage,
  ambiguous_id: EXIT.usage,
  turn_exists: EXIT.usage,
  decision_refused: EXIT.refused,
  fork_refused: EXIT.refused,
  reset_refused: EXIT.refused,
  unknown_call: EXIT.refused,
  already_decided: EXIT.refused,
  stale_args: EXIT.refused,
  invalid_arguments: EXIT.refused,
  invalid_answer: EXIT.refused,
  expired: EXIT.refused,
  malformed: EXIT.refused,
  cancelled: EXIT.refused,
  message_changed: EXIT.refused,
  build_refused: EXIT.refused,
  build_not_found: EXIT.notFound,
  session_closing: EXIT.refused,
  session_full: EXIT.refused,
  pauses_full: EXIT.refused,
  pause_not_found: EXIT.notFound,
  control_unavailable: EXIT.waiting,
  not_in_doubt: EXIT.refused,
  config_not_found: EXIT.notFound,
  agent_not_found: EXIT.notFound,
  turn_not_found: EXIT.notFound,
  call_not_found: EXIT.notFound,
  session_not_found: EXIT.notFound,
  no_server: EXIT.noServer,
  server_failed: EXIT.noServer,
  server_busy: EXIT.noServer,
  namespace_missing: EXIT.noServer,
  not_ready: EXIT.noServer,
  still_waiting: EXIT.waiting,
  answer_too_large: EXIT.failed,
  signals_full: EXIT.failed,
  attributes_missing: EXIT.failed,
  worker_failed: EXIT.failed,
  sandbox_unavailable: EXIT.failed,
  sdk_mismatch: EXIT.failed,
  not_installed: EXIT.failed,
  turn_failed: EXIT.failed,
  given_up: EXIT.failed,
  editor_failed: EXIT.failed,
  notify_failed: EXIT.failed,
  outside_root: EXIT.failed,
  workspace: EXIT.failed,
  point_not_found: EXIT.notFound,
  bad_history: EXIT.failed,
  newer_version: EXIT.failed,
  not_a_turn: EXIT.failed,
  replay_failed: EXIT.failed,
  encryption_invalid: EXIT.usage,
  key_missing: EXIT.failed,
  payload_refused: EXIT.failed,
  model_failed: EXIT.failed,
  file_failed: EXIT.failed,
  login_failed: EXIT.failed,
  audit_invalid: EXIT.failed,
  audit_broken: EXIT.failed,
  audit_unsigned: EXIT.failed,
  audit_key: EXIT.failed,
  users_invalid: EXIT.usage,
  approvers_invalid: EXIT.usage,
  user_not_found: EXIT.notFound,
  signed_out: EXIT.failed,
  forbidden: EXIT.failed,
  not_allowed: EXIT.failed,
  not_found: EXIT.notFound,
  not_json: EXIT.failed,
  too_large: EXIT.failed,
  too_many_attempts: EXIT.failed,
  schedule_exists: EXIT.usage,
  schedule_not_found: EXIT.notFound,
};

/** The one mapping from what was thrown to what the process ends with. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof CountersignError) return BY_CODE[error.code];
  // Commander throws these for help and version too, with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  return EXIT.failed;
}
