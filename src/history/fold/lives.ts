import { type CallBase, isValidCall, type PreparedCall, type ValidCall } from '../../contract/call';
import { apply, type LifeEvent } from '../../lifecycle/events';
import { approvalNote } from '../../lifecycle/results';
import type { CallState } from '../../lifecycle/state';
import type { CallEnded, EventHeader } from '../events';
import { type CallFold, eventHeader, type FoldState } from './state';

/** Lets recorded events happen to the calls as they happened in the workflow. */
export function happen(state: FoldState, ...events: readonly LifeEvent[]): void {
  state.approvals = events.reduce(apply, state.approvals);
}

/** Takes up a call as it was prepared. */
export function openCall(state: FoldState, call: PreparedCall): CallFold {
  const held: CallFold = { call, hasEnded: false };
  state.calls.set(call.callId, held);
  if (isValidCall(call)) register(state, call);
  return held;
}

function register(state: FoldState, call: ValidCall): void {
  happen(state, { type: 'registered', call, callKey: '', at: state.taskTime });
}

/** The life of a call. Everything is possible of a call that cannot be read. */
export function lifeOf(state: FoldState, { call }: Pick<CallFold, 'call'>): CallState {
  const known = state.approvals.calls.get(call.callId);
  if (known !== undefined) return known;
  register(state, unread(call));
  return lifeOf(state, { call });
}

function unread({ callId, id, tool }: CallBase): ValidCall {
  const retry = { maximumAttempts: 1, initialIntervalMs: 0, backoffCoefficient: 1 };
  const times = { timeoutMs: 0, heartbeatMs: 0, startWithinMs: 0, requestExpiresMs: null };
  const settings: ValidCall['settings'] = { safety: 'dangerous', effect: 'unsafe', retry, ...times };
  return { kind: 'run', callId, id, tool, arguments: {}, argsDigest: '', toolDigest: '', settings };
}

/** The time of an event, in ms. */
export function timeOf({ at }: Pick<EventHeader, 'at'>): number {
  return Date.parse(at);
}

/** How a call ended, as `endCall` takes it. */
type CallEnding = Pick<CallEnded, 'result' | 'durationMs' | 'attempts' | 'origin' | 'grant' | 'roster'>;

/** Gives a call its result. A call that has a result keeps it. */
export function endCall(
  state: FoldState,
  head: EventHeader,
  held: CallFold,
  ending: CallEnding,
): CallEnded[] {
  if (held.hasEnded) return [];
  held.hasEnded = true;
  const { callId, tool } = held.call;
  const { result } = ending;
  happen(state, { type: 'closed', callId, result, at: timeOf(head) });
  const life = state.approvals.calls.get(callId);
  const remark = life && approvalNote(life);
  const note = remark !== undefined && result.content.startsWith(remark) ? { note: remark } : {};
  // Nobody decides here, so how calls were closed is not asked again, and a long history does not carry it along.
  state.approvals = { ...state.approvals, closed: new Map() };
  return [{ type: 'call_ended', ...eventHeader(head), callId, tool, ...ending, ...note }];
}
