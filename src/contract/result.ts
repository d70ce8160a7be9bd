import type { Json, JsonObject } from './json';
import type { Safety } from './tool';

/**
 * Why a call has no success. The first six are those of the seeds.
 * - `validation`: the arguments do not fit; nothing ran.
 * - `tool_not_found`: no such tool; nothing ran.
 * - `tool`: the handler said so (threw).
 * - `transport`: the way to the tool broke (network, subprocess, worker).
 * - `timeout`: the tool's time was over; partial output is in `content`.
 * - `unknown`: none of these.
 * - `denied`: a person said no; nothing ran.
 * - `expired`: nobody decided in time, or it did not start in time; nothing ran.
 * - `refused`: policy or a changed tool forbade it at the last check; nothing ran.
 * - `conflict`: the file is not what was approved; nothing was written.
 * - `in_doubt`: it was started and nobody knows the outcome.
 * - `cancelled`: the turn was cancelled.
 */
export const TOOL_ERROR_CODES = [
  'validation',
  'tool_not_found',
  'tool',
  'transport',
  'timeout',
  'unknown',
  'denied',
  'expired',
  'refused',
  'conflict',
  'in_doubt',
  'cancelled',
] as const;
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** What went wrong with a call. */
export interface ToolFailure {
  code: ToolErrorCode;
  message: string;
  details?: Json;
  stack?: string;
}

/** What a call of a dry world is recorded as: it would have run, or a person would have been asked first. */
export type DryKind = 'would_run' | 'would_ask';

/** Facts about one execution. */
export interface ResultMetadata {
  execution_time_ms: number;
  safety_level: Safety | null;
  /** True when a person approved or modified this call; false when it needed nobody or nobody did. */
  approved: boolean;
  attempt: number;
  /** Set where nothing ran, because the turn is a fork in a dry world. */
  dry?: DryKind;
  /** When it ended; ISO 8601. */
  timestamp: string;
}

/**
 * The outcome of one call; every call has one. `success` and `error` exclude each other.
 * `content` is what the model reads, always a string.
 */
export interface ToolResult {
  /** The model's own call id (made up where it gave none or one twice). */
  id: string;
  callId: string;
  tool: string;
  /** Who executed it: `local`, or the name of an MCP server. */
  server: string;
  arguments: JsonObject;
  success: boolean;
  content: string;
  /** `text`, `json`, or a MIME type. */
  contentType: string;
  error?: ToolFailure;
  metadata: ResultMetadata;
}
