import { makeFailure, makeSuccess, type ResultFacts, type ResultHead } from '../contract/make-result';
import type { ToolFailure, ToolResult } from '../contract/result';
import { cutOutput } from './cut-output';
import { formatResult } from './format-result';

/** Facts of a result made now. */
export type FactsNow = Omit<ResultFacts, 'timestamp'>;

/** One message of role `tool`, as OpenAI wants it. */
export interface ToolMessage {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** The result of a handler that returned `value`; its text is cut to `limitBytes`. Never throws. */
export function successResult(
  head: ResultHead,
  value: unknown,
  options: FactsNow & { limitBytes: number },
): ToolResult {
  const { content, contentType } = formatResult(value);
  const { limitBytes, ...facts } = options;
  return makeSuccess(
    head,
    { content: cutOutput(content, limitBytes), contentType },
    { ...facts, timestamp: now() },
  );
}

/** The result of a call that failed now, or never ran. */
export function failureResult(head: ResultHead, failure: ToolFailure, facts: FactsNow = {}): ToolResult {
  return makeFailure(head, failure, { ...facts, timestamp: now() });
}

/** A result as the model reads it. */
export function toToolMessage(result: Pick<ToolResult, 'id' | 'content'>): ToolMessage {
  return { role: 'tool', tool_call_id: result.id, content: result.content };
}

function now(): string {
  return new Date().toISOString();
}
