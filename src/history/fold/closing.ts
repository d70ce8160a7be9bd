import { ENDINGS } from '../../contract/endings';
import type { ToolFailure, ToolResult } from '../../contract/result';
import type { ResultRef } from '../../contract/think';
import type { CallEnded, EventHead } from '../events';
import { failureResult, successResult, withText } from './results';
import { endCall, type CallFold, type FoldState } from './state';

/** Ends a call that the turn itself closed, with the words that go to the model where history has them. */
export function closeWithText(state: FoldState, head: EventHead, ref: ResultRef): CallEnded[] {
  const held = state.calls.get(ref.callId);
  if (held === undefined || held.phase === 'ended') return [];
  const made = resultOfFate(held, held.fate ?? unknownFate(ref), head.at);
  return end(head, held, withText(made, ref.text));
}

/** Ends what is left at the end of a turn: no `think` comes any more that would tell the words. */
export function closeRest(state: FoldState, head: EventHead, cancelled: boolean): CallEnded[] {
  return [...state.calls.values()].flatMap((held) => {
    const fate = held.fate ?? (cancelled ? fateOfCancelled(held) : undefined);
    return fate === undefined ? [] : end(head, held, resultOfFate(held, fate, head.at));
  });
}

/** Ends a call in doubt by what proved its outcome. */
export function closeByProof(head: EventHead, held: CallFold, proof: ToolResult | ToolFailure): CallEnded[] {
  if ('success' in proof) {
    return endCall(head, held, { result: proof, durationMs: null, attempts: 1, origin: 'handler' });
  }
  return end(head, held, failureResult(held, proof, head.at));
}

function end(head: EventHead, held: CallFold, result: ToolResult): CallEnded[] {
  const attempts = held.doubt === undefined ? 0 : 1;
  return endCall(head, held, { result, durationMs: null, attempts, origin: 'turn' });
}

function resultOfFate(held: CallFold, fate: NonNullable<CallFold['fate']>, at: string): ToolResult {
  return 'content' in fate ? successResult(held, fate.content, at) : failureResult(held, fate, at);
}

function unknownFate(ref: ResultRef): NonNullable<CallFold['fate']> {
  return ref.success
    ? { content: ref.text ?? '' }
    : { code: 'unknown', message: 'the record does not say why' };
}

function fateOfCancelled(held: CallFold): ToolFailure {
  if (held.phase === 'running') return ENDINGS.cancelled;
  if (held.phase !== 'lost') return ENDINGS.neverStarted;
  return { code: 'in_doubt', message: 'Unresolved: the turn ended with this call in doubt.' };
}
