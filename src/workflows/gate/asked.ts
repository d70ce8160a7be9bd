import { type CancellationScope, condition, uuid4 } from '@temporalio/workflow';
import { type CallSettings, isValidCall, type PreparedCall } from '../../contract/call';
import { callIdIn, callKey } from '../../contract/names';
import { approvalNote } from '../../lifecycle/results';
import {
  type CallState,
  decisionOf,
  type DoneCall,
  type PreparingCall,
  standingOf,
} from '../../lifecycle/state';
import { act, type ApprovalContext, callIn } from '../approvals';
import type { ChangeNotifier } from '../changes';
import { memoRoom, recordCall } from '../publish';
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
  readonly watched: WeakMap<CancellationScope, Set<string>>;
  readonly changes: ChangeNotifier;
}

/**
 * Opens a request. The whole request is recorded before it is listed as open. Returns the id of its call.
 */
export function open<A extends object>(
  gate: GateState,
  request: PlainRequest<A>,
  settings?: CallSettings,
): string {
  const { approvals } = gate;
  const callId = request.callId ?? callIdIn(1, gate.asked);
  const call = toCall(request, callId, settings, memoRoom());
  if (approvals.calls.has(callId) || approvals.closed.has(callId)) {
    throw gateFailure(`call id ${callId} was used before in this workflow`);
  }
  gate.asked += 1;
  if (approvals.calls.size === 0) gate.stepKey = uuid4();
  if (request.schema !== undefined)
    act(gate, { type: 'knew', schemas: { [call.toolDigest]: request.schema } });
  act(gate, { type: 'registered', call, callKey: callKey(gate.stepKey, callId), at: Date.now() });
  recordCall(call);
  return callId;
}

/** A call about which a workflow of its own asks. It waits in the scope of its caller. */
export class GateCall<A extends object> {
  constructor(
    readonly context: GateState,
    readonly callId: string,
    protected readonly request: PlainRequest<A>,
  ) {}

  get state(): CallState {
    return callIn(this.context, this.callId);
  }

  until(isTrue: () => boolean): Promise<void> {
    return condition(isTrue);
  }

  /** The verdict on the edit is published before the new request, so history shows them in this order. */
  async prepare(state: PreparingCall): Promise<PreparedCall> {
    this.context.changes.look();
    const prepared = toEditedCall(this.request, state, memoRoom());
    recordCall(isValidCall(prepared) ? prepared : state.call);
    return prepared;
  }

  /** Only workers that are ours know secrets. */
  secretFor(): undefined {
    return undefined;
  }
}

/**
 * Closes a request and publishes that immediately. The workflow may end in this task, and history must not end with an
 * open request.
 */
export function close(gate: GateState, callId: string): void {
  act(gate, { type: 'left', callId });
  gate.changes.look();
}

/** The decision that the workflow gets if a call is allowed. */
export function toGateAllowed<A extends object>(state: CallState, request: PlainRequest<A>): GateAllowed<A> {
  const { call, callKey } = state;
  const by = decisionOf(state);
  if (by === undefined) throw gateFailure(`call ${call.callId} was never decided`);
  const { decision, decisionId, approver, reason } = by.decision;
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
export function forbiddenBy({ approvals }: GateState, { call, callKey, result }: DoneCall): GateForbidden {
  const { callId } = call;
  return {
    callId,
    callKey,
    allowed: false,
    decision: result.error?.code === 'denied' ? 'denied' : 'expired',
    message: result.error?.message ?? '',
    approver: standingOf(approvals, callId)?.approver,
  };
}
