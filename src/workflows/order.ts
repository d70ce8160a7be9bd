import { LIMITS } from '../contract/limits';
import type { Order } from '../contract/tool';
import type { CallState } from './approvals/state';

/**
 * Which ready calls start now, in the model's order.
 * - `lane`: pure calls at once, up to 16; calls with an effect one at a time, the earliest ready one first. A call that
 *   waits for a decision holds no place; one in doubt keeps the lane, because its outcome is not known.
 * - `strict`: call n only after n−1 has its result.
 * - `parallel`: every ready call, up to 16 at once.
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

function isPure(call: CallState): boolean {
  return call.call.settings.effect === 'pure';
}

function holdsPlace(call: CallState): boolean {
  return call.phase === 'running' || call.phase === 'in_doubt';
}
