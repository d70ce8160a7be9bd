import { type CancellationScope, condition, uuid4, workflowInfo } from '@temporalio/workflow';
import type { CallSettings, SpentDecision } from '../../contract/call';
import { callIdIn, callKey } from '../../contract/names';
import { expire, approvalNote, register, reopen } from '../approvals/transitions';
import { type ApprovalContext, type CallState, markChanged } from '../approvals/state';
import type { ChangeNotifier } from '../changes';
import { memoRoom, recordCall } from '../publish';
import { timerMs } from '../deadline-timer';
import {
  fitsLike,
  type GateAllowed,
  gateFailure,
  type GateForbidden,
  type PlainRequest,
  toCall,
  toEditedCall,
} from './request';

/** The state of a gate, which its callers do not see. */
export interface GateState extends ApprovalContext {
  /** The number of requests so far. */
  asked: number;
  /** The open calls that this workflow runs, by the scope in which they were asked for. */
  readonly watched: WeakMap<CancellationScope, Set<CallState>>;
  readonly changes: ChangeNotifier;
}

/**
 * Opens a request. The whole request is recorded before it is listed as open.
 */
export function open<A extends object>(
  gate: GateState,
  request: PlainRequest<A>,
  settings?: CallSettings,
): CallState {
  const { approvals } = gate;
  const callId = request.callId ?? callIdIn(1, gate.asked);
  const call = toCall(request, callId, settings, memoRoom());
  if (approvals.calls.has(callId) || approvals.closed.has(callId)) {
    throw gateFailure(`call id ${callId} was used before in this workflow`);
  }
  gate.asked += 1;
  if (approvals.calls.size === 0) gate.stepKey = uuid4();
  if (request.schema !== undefined) approvals.schemas.set(call.toolDigest, request.schema);
  const state = register(approvals, call, { callKey: callKey(gate.stepKey, callId), now: Date.now() });
  recordCall(call);
  markChanged(gate);
  return state;
}

/** Waits until a person has decided, or the request has expired. */
export async function untilDecided<A extends object>(
  gate: GateState,
  state: CallState,
  request: PlainRequest<A>,
): Promise<void> {
  const isDecided = (): boolean => state.phase !== 'request';
  while (!isDecided()) {
    const { deadline } = state;
    if (deadline === null) await condition(isDecided);
    else await condition(isDecided, timerMs(deadline, workflowInfo().runId));
    expire(gate.approvals, Date.now());
    if (state.phase === 'replanning') askAgain(gate, state, request);
  }
}

/**
 * Asks again after an edit. The verdict on the edit is published before the new request, so history shows them in this
 * order.
 */
function askAgain<A extends object>(gate: GateState, state: CallState, request: PlainRequest<A>): void {
  gate.changes.publish();
  reopen(state, toEditedCall(request, state, memoRoom()), Date.now());
  recordCall(state.call);
  markChanged(gate);
}

/**
 * Closes a request and publishes that immediately. The workflow may end in this task, and history must not end with an
 * open request.
 */
export function close(gate: GateState, { call }: CallState): void {
  gate.approvals.calls.delete(call.callId);
  markChanged(gate);
  gate.changes.publish();
}

/** The decision that the workflow gets if a call is allowed. */
export function toGateAllowed<A extends object>(
  { decision, decisionId, approver, reason }: SpentDecision,
  state: CallState,
  request: PlainRequest<A>,
): GateAllowed<A> {
  const { call, callKey } = state;
  const said = { decision, decisionId, approver, reason, note: approvalNote(state) };
  return {
    ...said,
    callId: call.callId,
    callKey,
    allowed: true,
    arguments: effectiveOf(state, request),
  };
}

function effectiveOf<A extends object>(state: CallState, request: PlainRequest<A>): A {
  if (state.edit === undefined) return request.arguments;
  if (fitsLike(request, state.effective)) return state.effective;
  throw gateFailure(`the changed arguments of ${request.tool} do not fit`);
}

/** The decision that the workflow gets if a call may not run. */
export function forbiddenBy({ call, callKey, result, standing }: CallState): GateForbidden {
  return {
    callId: call.callId,
    callKey,
    allowed: false,
    decision: result?.error?.code === 'denied' ? 'denied' : 'expired',
    message: result?.error?.message ?? '',
    approver: standing?.approver,
  };
}
