import { dryKindOf, dryResult } from '../contract/dry';
import type { ThinkOutput } from '../contract/think';
import { closeCall } from './approvals/close';
import { takeReply, takeWords } from './think';
import type { Turn } from './turn';

/** The step that a fork begins with, the first time; undefined: the model is asked. */
export function takeGiven(turn: Turn): ThinkOutput | undefined {
  const { given } = turn;
  if (given === undefined) return undefined;
  delete turn.given;
  takeWords(turn);
  takeReply(turn, given);
  return given;
}

/** In a dry world: closes every call that must not run before anything could start it. */
export function closeDry(turn: Turn, now: number): void {
  if (turn.fork?.world !== 'dry') return;
  for (const state of turn.approvals.calls.values()) {
    const kind = dryKindOf(state.call);
    if (kind === undefined) continue;
    const result = dryResult(state.call, kind, new Date(now).toISOString());
    closeCall(turn.approvals, state, { why: 'decided', result });
  }
}
