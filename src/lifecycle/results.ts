import { afterDoubt, decisionNote, mayHaveRun, withNoteFirst } from '../contract/call-texts';
import {
  makeFailure,
  makeSuccess,
  type ResultFacts,
  resultHead,
  type ToolFailure,
  type ToolResult,
} from '../contract/result';
import { type CallState, decisionOf, leaveOf } from './state';

/**
 * An error result that the workflow makes at workflow time `now` (ms). It says that nothing ran only if that is
 * certain.
 */
export function failureOf(state: CallState, failure: ToolFailure, now: number): ToolResult {
  const said = mayHaveRun(state) ? afterDoubt(failure) : failure;
  return noted(state, makeFailure(resultHead(state), said, factsOf(state, now)));
}

/** A success that a person confirms. */
export function successOf(state: CallState, content: string, now: number): ToolResult {
  return noted(state, makeSuccess(resultHead(state), { content, contentType: 'text' }, factsOf(state, now)));
}

/** Puts the note about what a person changed or said in front of a result, once the call has started by a decision. */
export function noted(state: CallState, result: ToolResult): ToolResult {
  const hasStarted = state.phase === 'running' || state.phase === 'in_doubt';
  return hasStarted ? { ...result, content: withNoteFirst(approvalNote(state), result.content) } : result;
}

/** The note for a model about what a person changed or said. */
export function approvalNote(state: CallState): string | undefined {
  const { edit, proposed, effective } = state;
  const changed = edit === undefined ? undefined : proposed;
  return decisionNote({ arguments: effective, decision: decisionOf(state)?.decision, proposed: changed });
}

/** The facts about how a call ran, at workflow time `now` (ms). */
export function factsOf(state: CallState, now: number): ResultFacts {
  return {
    timestamp: new Date(now).toISOString(),
    safety: state.call.settings.safety,
    approved: (leaveOf(state)?.by ?? 'nobody') !== 'nobody',
  };
}
