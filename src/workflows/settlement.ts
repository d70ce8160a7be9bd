import { ActivityFailure, ApplicationFailure, TimeoutFailure, isCancellation } from '@temporalio/workflow';
import type { ToolFailure, ToolResult } from '../contract/result';
import { FAILURES } from '../contract/names';
import { failureOf } from './approvals/close';
import type { CallState, Settlement } from './approvals/state';

/**
 * What a failed activity means for its call.
 * A schedule-to-start timeout, a cancellation before the start and "not registered" prove that it never started;
 * anything else leaves an unsafe call in doubt.
 */
export function settlementOf(state: CallState, error: unknown, now: number): Settlement {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const proven = neverStarted(cause, error);
  if (proven !== undefined) return { result: failureOf(state, proven, now) };
  if (state.call.settings.effect === 'unsafe') return { inDoubt: { message: doubtOf(cause) } };
  return { result: lastResult(cause) ?? failureOf(state, lostFailure(cause), now) };
}

function neverStarted(cause: unknown, error: unknown): ToolFailure | undefined {
  if (isCancellation(error))
    return { code: 'cancelled', message: 'The turn was cancelled. This call did not finish.' };
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') {
    return { code: 'expired', message: 'No worker started this call in time. Nothing ran.' };
  }
  if (cause instanceof ApplicationFailure && cause.type === FAILURES.notRegistered) {
    return {
      code: 'tool_not_found',
      message: 'The worker that took this call does not have the tool. Nothing ran.',
    };
  }
  return undefined;
}

function doubtOf(cause: unknown): string {
  if (cause instanceof TimeoutFailure) {
    return cause.timeoutType === 'HEARTBEAT'
      ? 'the worker stopped answering while the call ran'
      : 'the call was not heard of again after it started';
  }
  return `the call failed on its way back: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/** A retried call's last result travels in the failure that asked for the retry. */
function lastResult(cause: unknown): ToolResult | undefined {
  if (!(cause instanceof ApplicationFailure) || cause.type !== FAILURES.retry) return undefined;
  const [result] = cause.details ?? [];
  return isResult(result) ? result : undefined;
}

function isResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && 'callId' in value && 'content' in value;
}

function lostFailure(cause: unknown): ToolFailure {
  if (cause instanceof TimeoutFailure) {
    return cause.timeoutType === 'HEARTBEAT'
      ? { code: 'transport', message: 'Every worker that ran this call was lost. It may run again safely.' }
      : { code: 'timeout', message: 'The call did not end in time, at any attempt.' };
  }
  return { code: 'unknown', message: cause instanceof Error ? cause.message : 'The call failed.' };
}
