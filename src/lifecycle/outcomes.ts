import { type AskAgain, type CallOutput, type InDoubt, isAskable, type NotHere } from '../contract/call';
import { type ClosingCause, ENDINGS, unreadable, UNREADABLE } from '../contract/call-texts';
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
import type { UsedState } from '../contract/tool';
import type { LifeEvent } from './events';
import { failureOf } from './results';
import { type Approvals, type CallState, decisionOf, type RunningCall, secretOf } from './state';

/**
 * How the activity of a call ended, or what its failure means. `contentDigest` is set only if an activity made the
 * result. `cause` is set only if no event of the activity shows it.
 */
export type Settlement =
  | ({ result: ToolResult; contentDigest?: string; cause?: ClosingCause } & UsedState)
  | ({ inDoubt: InDoubt } & UsedState)
  | AskAgain;

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
  { type, details }: { type?: string | null; details?: readonly unknown[] | null },
  callId: string,
): ToolResult | undefined {
  return type === FAILURES.retry ? readResult(details?.[0], callId) : undefined;
}

/** Settles a call that runs, at workflow time `now` (ms). */
export function settle(calls: Approvals, callId: string, settlement: Settlement, now: number): LifeEvent[] {
  const state = calls.calls.get(callId);
  if (state?.phase !== 'running') return [];
  if ('inDoubt' in settlement && state.reported !== undefined)
    return [{ type: 'closed', callId, cause: 'proven', result: state.reported, at: now }];
  if ('result' in settlement) {
    const { result, contentDigest, cause } = settlement;
    return [{ type: 'closed', callId, result, contentDigest, cause, at: now }];
  }
  if ('askAgain' in settlement && isAskable(state.call, state.secret, settlement))
    return askAgain(calls, state, { said: settlement, now });
  const doubt = 'askAgain' in settlement ? { message: settlement.askAgain } : settlement.inDoubt;
  return [{ type: 'lost', callId, doubt, at: now }];
}

/**
 * Asks again because the decision does not hold in this run. The call never takes that decision again, and waits for
 * another decision.
 */
function askAgain(
  { cancelled }: Approvals,
  state: RunningCall,
  { said, now }: { said: AskAgain; now: number },
): LifeEvent[] {
  const { callId } = state.call;
  if (cancelled) return [neverStarted({ ...state, mayHaveRun: said.mayHaveRun ?? state.mayHaveRun }, now)];
  return [
    { type: 'verdicts_voided', callId, ids: voidIds(state, said.struck), why: said.askAgain },
    { type: 'voided', callId, said, at: now },
  ];
}

/** The ids of the decisions that do not count: the decision that was held, or the votes of the people in `struck`. */
function voidIds(state: RunningCall, struck: readonly string[] | undefined) {
  const held = decisionOf(state)?.decision;
  if (struck === undefined || held?.votes === undefined) return held === undefined ? [] : [held.decisionId];
  return state.votes.flatMap(({ voter, decisionId }) => (struck.includes(voter) ? decisionId : []));
}

/** The end of a call that never starts, because it was cancelled. */
export function neverStarted(state: CallState, now: number): LifeEvent {
  const result = failureOf(state, ENDINGS.neverStarted, now);
  return { type: 'closed', callId: state.call.callId, cause: 'neverStarted', result, at: now };
}
