import { ApplicationFailure } from '@temporalio/activity';
import type { ToolResult } from '../contract/result';
import { FAILURES } from '../contract/names';
import { ModelError } from '../models/model';

/** The one map from errors to failures that Temporal understands: retried or for good, and when. */

/** A model's failure. What is not a ModelError counts as retryable. */
export function modelFailure(error: unknown): ApplicationFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ModelError)) {
    return ApplicationFailure.create({ type: `${FAILURES.model}.unknown`, message, ...causeOf(error) });
  }
  const { retryable, retryAfterMs } = error.options;
  return ApplicationFailure.create({
    type: `${FAILURES.model}.${error.kind}`,
    message,
    nonRetryable: !retryable,
    ...causeOf(error),
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}

function causeOf(error: unknown): { cause?: Error } {
  return error instanceof Error && error.cause instanceof Error ? { cause: error.cause } : {};
}

/** Something the worker lacks: asking again on the same worker would not help. */
export function setupFailure(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, `${FAILURES.model}.setup`);
}

/** A call that may run again; the result so far is kept for when attempts are used up. */
export function retryFailure(result: ToolResult): ApplicationFailure {
  const message = result.error?.message ?? 'the call may run again';
  return ApplicationFailure.create({ type: FAILURES.retry, message, details: [result] });
}
