import { doubt, lost, unstarted } from '../../contract/endings';
import { makeFailure, makeSuccess } from '../../contract/make-result';
import { FAILURES } from '../../contract/names';
import type { ToolFailure, ToolResult } from '../../contract/result';
import { rootOf } from '../decode/failure';
import type { DecodedFailure } from '../decode/events';
import type { CallFold } from './state';
import { is } from './guards';

/** A result that no handler made: the turn made it, or it follows from how the activity failed. */
export function failureResult(held: CallFold, failure: ToolFailure, at: string): ToolResult {
  return makeFailure(headOf(held), failure, factsOf(held, at));
}

/** A success that a person vouches for, with the words the model reads. */
export function successResult(held: CallFold, content: string, at: string): ToolResult {
  return makeSuccess(headOf(held), { content, contentType: 'text' }, factsOf(held, at));
}

/** The same result with the words the model read in the end. */
export function withText(result: ToolResult, text: string | undefined): ToolResult {
  return text === undefined ? result : { ...result, content: text };
}

function headOf({ call, effective }: CallFold) {
  return { id: call.id, callId: call.callId, tool: call.tool, arguments: effective };
}

function factsOf({ call, approved }: CallFold, at: string) {
  const safety = call.kind === 'run' || call.kind === 'ask' ? call.settings.safety : null;
  return { timestamp: at, safety, approved };
}

/** What a failed activity means for its call, by the rules of the workflow's own settlement. */
export type Settled = { result: ToolResult } | { failure: ToolFailure } | { doubt: string };

/** As the workflow judges it: some failures prove that the call never started, others leave an unsafe call in doubt. */
export function settleFailure(failure: DecodedFailure, unsafe: boolean): Settled {
  const root = rootOf(failure);
  const activity = { ...root, cancelled: root.kind === 'canceled' };
  const proven = unstarted(activity);
  if (proven !== undefined) return { failure: proven };
  if (unsafe) return { doubt: doubt(activity) };
  const [last] = root.type === FAILURES.retry ? root.details : [];
  return is.toolResult(last) ? { result: last } : { failure: lost(activity) };
}
