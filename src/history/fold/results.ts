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
  const proven = neverStarted(root);
  if (proven !== undefined) return { failure: proven };
  if (unsafe) return { doubt: doubtOf(root) };
  const [last] = root.type === FAILURES.retry ? root.details : [];
  return is.toolResult(last) ? { result: last } : { failure: lostFailure(root) };
}

function neverStarted(root: DecodedFailure): ToolFailure | undefined {
  if (root.kind === 'canceled') return CANCELLED;
  if (root.timeout === 'SCHEDULE_TO_START') {
    return { code: 'expired', message: 'No worker started this call in time. Nothing ran.' };
  }
  if (root.type === FAILURES.notRegistered) {
    return {
      code: 'tool_not_found',
      message: 'The worker that took this call does not have the tool. Nothing ran.',
    };
  }
  return undefined;
}

/** The result of a call that never started because its turn was cancelled. */
export const NEVER_STARTED: ToolFailure = {
  code: 'cancelled',
  message: 'The turn was cancelled before this call started. Nothing ran.',
};

/** What the model reads of a request that expired. */
export const EXPIRED = 'Nobody decided on this call in time. It expired and counts as denied; nothing ran.';

/** The result of a call that was cancelled with its turn. */
export const CANCELLED: ToolFailure = {
  code: 'cancelled',
  message: 'The turn was cancelled. This call did not finish.',
};

function doubtOf(root: DecodedFailure): string {
  if (root.kind !== 'timeout') return `the call failed on its way back: ${root.message}`;
  return root.timeout === 'HEARTBEAT'
    ? 'the worker stopped answering while the call ran'
    : 'the call was not heard of again after it started';
}

function lostFailure(root: DecodedFailure): ToolFailure {
  if (root.kind !== 'timeout') return { code: 'unknown', message: root.message || 'The call failed.' };
  return root.timeout === 'HEARTBEAT'
    ? { code: 'transport', message: 'Every worker that ran this call was lost. It may run again safely.' }
    : { code: 'timeout', message: 'The call did not end in time, at any attempt.' };
}
