import { CALL_ID } from './decision';
import type { JsonObject } from './json';
import {
  both,
  flag,
  only,
  json,
  jsonObject,
  nullable,
  number,
  object,
  type Of,
  oneOf,
  refined,
  text,
} from './schema/shape';
import { type Issue, SAFETIES, type Safety } from './tool';

/**
 * Why a call did not succeed. Every result without success has one of these codes.
 * - `validation`: the arguments do not fit; nothing ran.
 * - `tool_not_found`: no such tool; nothing ran.
 * - `tool`: the handler threw.
 * - `transport`: the way to the tool broke (network, subprocess, worker).
 * - `timeout`: the tool's time was over and it is known how the call ended; partial output is in `content`.
 * - `unknown`: none of the other codes fits.
 * - `denied`: a person said no; nothing ran.
 * - `expired`: nobody decided in time, or the call did not start in time; nothing ran.
 * - `refused`: policy or a changed tool forbade the call at the last check; nothing ran.
 * - `conflict`: the file is not what was approved; nothing was written.
 * - `in_doubt`: the call was started and nobody knows the outcome.
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

const FAILURE = object(
  { code: oneOf(TOOL_ERROR_CODES), message: text() },
  { details: json(), stack: text() },
);

/** The error of a call. */
export interface ToolFailure extends Of<typeof FAILURE> {}

const DRY_KINDS = ['would_run', 'would_ask'] as const;

/** How a call in a dry world is recorded: it would have run, or a person would have been asked first. */
export type DryKind = (typeof DRY_KINDS)[number];

/** Facts about how a call was executed. */
const METADATA = object(
  {
    execution_time_ms: number(),
    safety_level: nullable(oneOf(SAFETIES)),
    /** True when a person approved or modified this call. False when the call needed no decision or got none. */
    approved: flag(),
    attempt: number(),
    /** When the call ended. ISO 8601. */
    timestamp: text(),
  },
  {
    /** Set if nothing ran, because the turn is a fork in a dry world. */
    dry: oneOf(DRY_KINDS),
    /** Set if the call succeeded although its time was over, or it was aborted or given up. */
    late: only(true),
    /** The id of the child turn that the call started. */
    child: text(),
  },
);

/** The fields of every call, whatever its result. A model may ask for any name of a tool. */
export const CALL_HEAD = {
  /** `<step>.<n>`, unique in its turn. */
  callId: CALL_ID,
  /** The model's own id. An id is made up if the model gave no id, or the same id twice. So it is unique. */
  id: text({ minLength: 1, maxLength: 1000 }),
  tool: text({ maxLength: 1000 }),
};

/** The schema of the outcome of one call. A failure has an error. */
export const RESULT = refined(
  object(
    both(CALL_HEAD, {
      /** Where the tool is from: `local`, or the name of an MCP server. */
      server: text(),
      arguments: jsonObject(),
      success: flag(),
      content: text(),
      /** `text`, `json`, or a MIME type. */
      contentType: text(),
      metadata: METADATA,
    }),
    {
      error: FAILURE,
      /** The answer of an MCP server as it came, for a client of the gateway. Absent: `content` says it all. */
      blocks: jsonObject(),
    },
  ),
  { if: { properties: { success: { const: false } } }, then: { required: ['error'] } },
);

/**
 * The outcome of one call. Every call has an outcome. `success` and `error` exclude each other. The model reads
 * `content`, which is always a string.
 */
export interface ToolResult extends Of<typeof RESULT> {}

/** The call that a result belongs to. */
export interface ResultHead {
  /** The model's own id. */
  id: string;
  callId: string;
  tool: string;
  /** @default 'local' */
  server?: string;
  arguments: JsonObject;
}

/**
 * The facts that are known about the execution. The code that makes results reads no clock, so that workflows can make
 * results too.
 */
export interface ResultFacts {
  /** When the call ended. ISO 8601. */
  timestamp: string;
  /** Milliseconds. @default 0: nothing ran */
  executionTimeMs?: number;
  /** @default null: the tool is not known */
  safety?: Safety | null;
  /** Whether a person approved or modified the call. @default false */
  approved?: boolean;
  /** @default 1 */
  attempt?: number;
  /** The output that the handler reported with `partial` before it ended early. Only makeFailure reads it. */
  partial?: string;
}

/** The return value of a handler, as text for the model. */
export interface ResultContent {
  content: string;
  /** `text`, `json`, or a MIME type. */
  contentType: string;
  /** See RESULT. */
  blocks?: JsonObject;
}

/** The result of a successful call. */
export function makeSuccess(head: ResultHead, output: ResultContent, facts: ResultFacts): ToolResult {
  return { ...toHead(head), success: true, ...output, metadata: toMetadata(facts) };
}

/**
 * The result of a call without success. Its content has the reason, and the output that was reported before the call
 * ended.
 */
export function makeFailure(head: ResultHead, failure: ToolFailure, facts: ResultFacts): ToolResult {
  return {
    ...toHead(head),
    success: false,
    content: failureText(failure, facts.partial),
    contentType: 'text',
    error: failure,
    metadata: toMetadata(facts),
  };
}

/** A failure as the model reads it: code and message, then the partial output. */
function failureText(failure: ToolFailure, partial = '') {
  const line = failureLine(failure);
  return partial === '' ? line : `${line}\nPartial output:\n${partial}`;
}

function failureLine({ code, message }: ToolFailure) {
  return `Error [${code}]: ${message}`;
}

/** How a call ended, in one word. */
export type ResultKind = 'done' | DryKind | ToolErrorCode;

export function kindOfResult({ success, error, metadata }: ToolResult): ResultKind {
  return metadata.dry ?? (success ? 'done' : (error?.code ?? 'unknown'));
}

/** The tool's own output: the content without the note before it, and without the line that names a failure. */
export function outputOf({ content, error }: ToolResult, note?: string): string {
  const own = note === undefined ? content : without(`${note}\n\n`, content);
  if (error === undefined) return own;
  const rest = without(STATE_LOST, own);
  const output = without(failureLine(error), rest).replace(/^\n/, '');
  return rest === own ? output : `${STATE_LOST}${output}`;
}

/**
 * A note before the result, for the model and for people: the call could not use the state that earlier calls had made.
 */
const STATE_LOST = '[The state that earlier calls had made is lost. This call began without it.]\n\n';

/** The result of a call whose handler began without the state that earlier calls had made for it. */
export function withoutState(result: ToolResult): ToolResult {
  return { ...result, content: `${STATE_LOST}${result.content}` };
}

/** A text without what it begins with. */
export function without(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/** The most issues that a validation failure names. The model fixes these first. */
const MOST_ISSUES = 20;

/** The most characters of an issue. Validators quote the value that they checked, which can be long. */
const ISSUE_CHARACTERS = 500;

/**
 * The failure of a call whose arguments do not fit. Its message names the first 20 issues, and its details hold them.
 */
export function validationFailure(issues: readonly Issue[]): ToolFailure {
  const details = issues.slice(0, MOST_ISSUES).map(({ path, message }) => ({
    path: path.slice(0, ISSUE_CHARACTERS),
    message: message.slice(0, ISSUE_CHARACTERS),
  }));
  const lines = details.map(({ path, message }) => `${path === '' ? '(arguments)' : path}: ${message}`);
  const more = issues.length > MOST_ISSUES ? `; and ${issues.length - MOST_ISSUES} more` : '';
  return {
    code: 'validation',
    message: `The arguments do not fit the tool: ${lines.join('; ')}${more}`,
    details,
  };
}

/** The ids, tool and arguments of the call that a result belongs to. */
export function resultHead({ call, effective }: CallOfResult): ResultHead {
  return { id: call.id, callId: call.callId, tool: call.tool, arguments: effective };
}

interface CallOfResult {
  call: Pick<ResultHead, 'id' | 'callId' | 'tool'>;
  /** The arguments that ran, or would have run. */
  effective: JsonObject;
}

function toHead({ id, callId, tool, server = 'local', arguments: args }: ResultHead) {
  return { id, callId, tool, server, arguments: args };
}

function toMetadata(facts: ResultFacts): ToolResult['metadata'] {
  return {
    execution_time_ms: facts.executionTimeMs ?? 0,
    safety_level: facts.safety ?? null,
    approved: facts.approved ?? false,
    attempt: facts.attempt ?? 1,
    timestamp: facts.timestamp,
  };
}
