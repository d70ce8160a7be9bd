import { ActivityFailure, ApplicationFailure, TimeoutFailure, isCancellation } from '@temporalio/workflow';
import { doubt, lost, unstarted, type LostActivity } from '../contract/endings';
import type { ToolResult } from '../contract/result';
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
  const activity = lostActivity(cause, isCancellation(error));
  const proven = unstarted(activity);
  if (proven !== undefined) return { result: failureOf(state, proven, now) };
  if (state.call.settings.effect === 'unsafe') return { inDoubt: { message: doubt(activity) } };
  return { result: lastResult(cause) ?? failureOf(state, lost(activity), now) };
}

function lostActivity(cause: unknown, cancelled: boolean): LostActivity {
  return {
    cancelled,
    timeout: cause instanceof TimeoutFailure ? cause.timeoutType : undefined,
    type: cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined,
    message: cause instanceof Error ? cause.message : String(cause),
  };
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
