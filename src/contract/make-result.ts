import type { JsonObject } from './json';
import type { ToolFailure, ToolResult } from './result';
import type { Issue, Safety } from './tool';

/** Which call a result belongs to. */
export interface ResultHead {
  /** The model's own id. */
  id: string;
  callId: string;
  tool: string;
  /** @default 'local' */
  server?: string;
  arguments: JsonObject;
}

/** What is known about the execution; nothing here reads a clock, so that workflows can make results too. */
export interface ResultFacts {
  /** When it ended; ISO 8601. */
  timestamp: string;
  /** Milliseconds. @default 0: nothing ran */
  executionTimeMs?: number;
  /** @default null: the tool is not known */
  safety?: Safety | null;
  /** Whether a person approved or modified it. @default false */
  approved?: boolean;
  /** @default 1 */
  attempt?: number;
  /** What the handler had given by `partial` before it ended early; only read by makeFailure. */
  partial?: string;
}

/** What a handler gave back, as text for the model. */
export interface ResultContent {
  content: string;
  /** `text`, `json`, or a MIME type. */
  contentType: string;
}

/** The result of a call that did what it should. */
export function makeSuccess(head: ResultHead, output: ResultContent, facts: ResultFacts): ToolResult {
  const { content, contentType } = output;
  return { ...toHead(head), success: true, content, contentType, metadata: toMetadata(facts) };
}

/** The result of a call that did not; its content tells the model why, and what is known so far. */
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
function failureText({ code, message }: ToolFailure, partial = ''): string {
  const line = `Error [${code}]: ${message}`;
  return partial === '' ? line : `${line}\nPartial output:\n${partial}`;
}

/** Issues a validation failure names; the model mends these first. */
const ISSUES_TOLD = 20;

/** Validators quote what they were given, which can be long. */
const ISSUE_CHARACTERS = 500;

/** The failure of arguments that do not fit: its message names the first 20 issues, its details hold them. */
export function validationFailure(issues: readonly Issue[]): ToolFailure {
  const details = issues.slice(0, ISSUES_TOLD).map(({ path, message }) => ({
    path: path.slice(0, ISSUE_CHARACTERS),
    message: message.slice(0, ISSUE_CHARACTERS),
  }));
  const told = details.map(({ path, message }) => `${path === '' ? '(arguments)' : path}: ${message}`);
  const more = issues.length > ISSUES_TOLD ? `; and ${issues.length - ISSUES_TOLD} more` : '';
  return {
    code: 'validation',
    message: `The arguments do not fit the tool: ${told.join('; ')}${more}`,
    details,
  };
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
