import type { PreparedCall } from '../contract/call';
import type { ToolResult } from '../contract/result';
import type { TurnCounts } from '../contract/turn';
import { firstLeave } from '../lifecycle/events';
import { type CallState, decisionOf } from '../lifecycle/state';
import type { Turn } from './turn-state';

/** Counts a call that is over. */
export function countCall(
  { counts, approvals }: Turn,
  { call, result }: { call: PreparedCall; result: ToolResult },
): void {
  // The turn or run in which the call ran has counted it.
  if (call.kind === 'recorded') return;
  counts.calls += 1;
  if (!result.success) counts.failed += 1;
  // A worker may have made a request of a call that was prepared to run without one.
  const state = approvals.calls.get(call.callId);
  const asked = state?.call ?? call;
  // Nobody was asked about a call that a grant allowed, also if it ran again after a doubt.
  const byGrant = state?.voided === 0 && firstLeave(state.call)?.by === 'grant';
  const isRequest = asked.kind === 'ask' && asked.question === undefined && !byGrant;
  countRequest(counts, { state, result, isRequest });
}

/**
 * Counts what people made of a call that is over. A call that no worker takes and a question without an answer have the
 * code `expired`, too. So only a request that nobody allowed counts as denied or expired.
 */
export function countRequest(
  counts: TurnCounts,
  { isRequest, state, result }: { isRequest: boolean; state: CallState | undefined; result: ToolResult },
): void {
  if (state?.edit !== undefined) counts.modified += 1;
  if (!isRequest) return;
  counts.requests += 1;
  if (state !== undefined && decisionOf(state) !== undefined) return;
  if (result.error?.code === 'denied') counts.denied += 1;
  if (result.error?.code === 'expired') counts.expired += 1;
}
