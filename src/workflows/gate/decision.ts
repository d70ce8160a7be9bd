import type { JsonObject } from '../../contract/json';
import type { Approvals, CallState } from '../approvals/state';
import { handOver } from '../approvals/transitions';
import { fitsLike, gateFailure } from './call';
import type { GateDecision, GateRequest } from './types';

/** What the caller of `ask` is told. An allowed call is handed over: its decision is spent. */
export function decisionOf<A extends JsonObject>(
  approvals: Approvals,
  state: CallState,
  request: GateRequest<A>,
): GateDecision<A> {
  const head = { callId: state.call.callId, callKey: state.callKey };
  if (state.phase === 'done') return { ...head, ...forbidden(state) };
  const { decision, decisionId, approver, reason } = handOver(approvals, state);
  const told = { decision, decisionId, approver, ...(reason === undefined ? {} : { reason }) };
  return { ...head, ...told, allowed: true, arguments: effectiveOf(state, request) };
}

function forbidden({ result, standing }: CallState) {
  return {
    allowed: false as const,
    decision: result?.error?.code === 'denied' ? ('denied' as const) : ('expired' as const),
    message: result?.error?.message ?? '',
    ...(standing === undefined ? {} : { approver: standing.approver }),
  };
}

function effectiveOf<A extends JsonObject>(state: CallState, request: GateRequest<A>): A {
  if (state.edit === undefined) return request.arguments;
  if (fitsLike(request, state.effective)) return state.effective;
  throw gateFailure(`the changed arguments of ${request.tool} do not fit`);
}
