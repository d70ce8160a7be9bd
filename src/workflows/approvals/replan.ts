import type { PreparedCall, ValidCall } from '../../contract/call';
import type { CallState } from './state';

/**
 * A new plan was made for a person's arguments: the call is a request again, at workflow time `now` (ms).
 * Where no plan could be made it is a request with what it had before, and a note that says why.
 */
export function reopen(state: CallState, prepared: PreparedCall, now: number): void {
  if (state.phase !== 'replanning') return;
  if (prepared.kind === 'run' || prepared.kind === 'ask') adopt(state, prepared);
  else
    restore(state, prepared.kind === 'invalid' ? prepared.result.content : 'its tool moved to another queue');
  state.phase = 'request';
  state.since = now;
  const { requestExpiresMs } = state.call.settings;
  state.deadline = requestExpiresMs === null ? null : now + requestExpiresMs;
}

function adopt(state: CallState, prepared: ValidCall): void {
  const { preview } = prepared;
  state.call = { ...state.call, arguments: prepared.arguments, argsDigest: prepared.argsDigest };
  // What was made for other arguments must not outlive them, even where nothing takes its place.
  delete state.call.preview;
  delete state.plan;
  if (preview !== undefined) state.call.preview = preview;
  if (preview?.plan !== undefined) state.plan = preview.plan;
  state.effective = prepared.arguments;
  state.effectiveDigest = prepared.argsDigest;
  delete state.note;
}

function restore(state: CallState, why: string): void {
  state.effective = state.call.arguments;
  state.effectiveDigest = state.call.argsDigest;
  state.note = `the edit could not be planned: ${why}`;
  delete state.edit;
  if (state.editBefore !== undefined) state.edit = state.editBefore;
}
