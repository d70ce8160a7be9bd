import { LIMITS } from '../contract/limits';
import type { Order } from '../contract/tool';
import type { Approvals, CallState } from '../lifecycle/state';
import type { Turn } from './turn-state';

/**
 * Tells whether a ready call of a step may start now, by the order of the step and by the worker that holds its state.
 * All calls that wait ask after each change, so the order is worked out once for each state of the calls.
 */
export function placesIn(turn: Turn): (state: CallState) => boolean {
  let of: Approvals | undefined;
  let next: ReadonlySet<CallState> = new Set();
  return (state) => {
    const { approvals, order, states } = turn;
    if (approvals !== of) next = new Set(nextToStart([...approvals.calls.values()], order));
    of = approvals;
    return next.has(state) && states.isFree(state.call);
  };
}

/**
 * The ready calls that start now, in the model's order.
 * - `lane`: pure calls start immediately, up to 16 at the same time. Calls with an effect start one at a time, the
 *   earliest ready one first. A call that waits for a decision does not block the lane. A call in doubt does, because
 *   its outcome is not known.
 * - `strict`: call n starts only after call n−1 has its result.
 * - `parallel`: every ready call starts, up to 16 at the same time.
 */
export function nextToStart(calls: readonly CallState[], order: Order): CallState[] {
  if (order === 'strict') return strictNext(calls);
  if (order === 'parallel') return firstFree(calls, () => true);
  return [...firstFree(calls, isPure), ...laneNext(calls)];
}

function strictNext(calls: readonly CallState[]): CallState[] {
  const first = calls.find((call) => call.phase !== 'done');
  return first?.phase === 'ready' ? [first] : [];
}

function laneNext(calls: readonly CallState[]): CallState[] {
  const effectful = calls.filter((call) => !isPure(call));
  if (effectful.some(holdsPlace)) return [];
  const next = effectful.find((call) => call.phase === 'ready');
  return next === undefined ? [] : [next];
}

function firstFree(calls: readonly CallState[], counts: (call: CallState) => boolean): CallState[] {
  const counted = calls.filter(counts);
  const free = LIMITS.pureAtOnce - counted.filter(holdsPlace).length;
  return counted.filter((call) => call.phase === 'ready').slice(0, Math.max(0, free));
}

function isPure(call: CallState) {
  return call.call.settings.effect === 'pure';
}

function holdsPlace(call: CallState) {
  return call.phase === 'running' || call.phase === 'in_doubt';
}
