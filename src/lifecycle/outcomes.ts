import type { AskAgain, CallOutput, NotHere } from '../contract/call';
import { unreadable, UNREADABLE } from '../contract/call-texts';
import {
  goesElsewhere,
  HOLDER_GONE,
  type LostActivity,
  settleLost,
  timeoutsOf,
} from '../contract/lost-activity';
import { FAILURES } from '../contract/names';
import { readCallOutput, readResult } from '../contract/call-payloads';
import type { ToolResult } from '../contract/result';
import { failureOf } from './results';
import type { Settlement } from './starts';
import { type CallState, secretOf } from './state';

/** What the activity of a call returned. A value that cannot be read leaves an unsafe call in doubt. */
export function outcomeIn(state: CallState, value: unknown, now: number): CallOutput {
  const { callId, settings } = state.call;
  const output = readCallOutput(value, { callId, secret: secretOf(state) });
  // Only the fields of the known forms count: anybody may have written the result.
  if (output !== undefined && 'result' in output) {
    const { result, contentDigest, holder, grant, roster } = output;
    return { result, contentDigest, holder, grant, roster };
  }
  if (output !== undefined && 'notHere' in output) {
    const { notHere, secret, proof } = output;
    return { notHere, secret, proof };
  }
  if (output !== undefined && !('child' in output && settings.child === undefined)) return output;
  if (settings.effect === 'unsafe') return { inDoubt: { message: UNREADABLE } };
  return { result: failureOf(state, unreadable(), now) };
}

/** What is known of an activity that ended without an outcome. */
interface Lost {
  /** Whether it was on the queue of the worker that holds the state of its tool. */
  isHeld: boolean;
  /** How long it was open, in ms. */
  openMs: number;
  /** See `lastResult`. */
  last: ToolResult | undefined;
  now: number;
}

/**
 * What a failed activity means for its call. If the worker that held the state did not take the call, another worker may
 * take it.
 */
export function outcomeOfLost(
  state: CallState,
  activity: LostActivity,
  { isHeld, openMs, last, now }: Lost,
): Exclude<Settlement, AskAgain> | (NotHere & { mayHaveRun?: true }) {
  const { settings } = state.call;
  const { effect } = settings;
  const times = { ...timeoutsOf(settings, isHeld), openMs };
  const moved = isHeld ? goesElsewhere(activity, { effect, times }) : undefined;
  if (moved !== undefined) return { notHere: HOLDER_GONE, ...(moved.mayHaveRun ? { mayHaveRun: true } : {}) };
  const lost = settleLost(activity, { effect, times });
  if ('doubt' in lost) return { inDoubt: { message: lost.doubt } };
  if (lost.known) return { result: failureOf(state, lost.failure, now) };
  const result = last ?? failureOf(state, lost.failure, now);
  // A local activity that was cancelled leaves no event.
  return activity.cancelled && settings.local === true
    ? { result, cause: 'cancelled' }
    : { result, holder: null };
}

/** The last result of a call that was retried. It is in the failure that asked for the retry. */
export function lastResult(
  { type, details }: { type?: string | null | undefined; details?: readonly unknown[] | null | undefined },
  callId: string,
): ToolResult | undefined {
  return type === FAILURES.retry ? readResult(details?.[0], callId) : undefined;
}
