import { type CallBase, isValidCall, type PreparedCall, type ValidCall } from '../../contract/call';
import { apply, type LifeEvent } from '../../lifecycle/events';
import { approvalNote } from '../../lifecycle/results';
import { type CallState, isOpen } from '../../lifecycle/state';
import { kindOfResult } from '../../contract/result';
import type { CallEnded, CallHeader, CallNow, EventHeader } from '../events';
import type { CallFold, FoldState } from './state';

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

function register(state: FoldState, call: ValidCall) {
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

/** Where a call is now. A request that no memo has shown yet is not one for people. */
function nowOf({ calls, approvals }: FoldState, callId: string): CallNow | undefined {
  const held = calls.get(callId);
  const life = approvals.calls.get(callId);
  if (held === undefined) return undefined;
  if (life === undefined) return { phase: held.hasEnded ? 'done' : 'preparing', votes: [] };
  const votes = life.votes.map(({ voter, decision, at, hunks, signedBy }) => {
    return { voter, decision, at, hunks, signedBy };
  });
  const phase = isOpen(life) && held.shown !== 'request' ? 'preparing' : life.phase;
  return { phase, outcome: life.phase === 'done' ? kindOfResult(life.result) : undefined, votes };
}

/** The same event, with where its call is now. */
export function withNow<T extends { callId: string }>(
  state: FoldState,
  event: T,
): T & Pick<CallHeader, 'now'> {
  return { ...event, now: nowOf(state, event.callId) };
}

/** The fields of an event that every event of a call repeats. See `eventHeader`. */
export function callHeader(state: FoldState, { eventId, at }: EventHeader, callId: string): CallHeader {
  return { eventId, at, callId, now: nowOf(state, callId) };
}

/** The time of an event, in ms. */
export function timeOf({ at }: Pick<EventHeader, 'at'>): number {
  return Date.parse(at);
}

/** Gives a call its result. A call that has a result keeps it. */
export function endCall(
  state: FoldState,
  head: EventHeader,
  held: CallFold,
  ending: Pick<CallEnded, 'result' | 'durationMs' | 'attempts' | 'origin' | 'grant' | 'roster'>,
): CallEnded[] {
  if (held.hasEnded) return [];
  held.hasEnded = true;
  const { callId, tool } = held.call;
  const { result } = ending;
  happen(state, { type: 'closed', callId, result, at: timeOf(head) });
  const life = state.approvals.calls.get(callId);
  const remark = life && approvalNote(life);
  const note = remark !== undefined && result.content.startsWith(remark) ? remark : undefined;
  // Nobody decides here, so how calls were closed is not asked again, and a long history does not carry it along.
  state.approvals = { ...state.approvals, closed: new Map() };
  return [{ type: 'call_ended', ...callHeader(state, head, callId), tool, ...ending, note }];
}
