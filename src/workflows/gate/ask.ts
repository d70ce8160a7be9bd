import { isValidCall } from '../../contract/call';
import { isCallId } from '../../contract/decision';
import { approvalNote } from '../../lifecycle/results';
import { type CallState, decisionOf, type DoneCall, standingOf } from '../../lifecycle/state';
import { handedOver, nextCallId, open } from './asked';
import { gateFailure } from './call-to-ask';
import {
  type GateAllowed,
  type GateDecision,
  type GateForbidden,
  type GateRequest,
  type Plain,
  readRequest,
} from './request';
import type { GateState } from './the-gate';

/** Asks about a call that the workflow itself runs. */
export async function askPerson<A extends object>(
  gate: GateState,
  request: GateRequest<A>,
): Promise<GateDecision<A>> {
  const plain = readRequest(request);
  const { callId, refused } = await opened(gate, plain, request.callId);
  if (refused !== undefined) return refused;
  const state = await handedOver(gate, plain.asked, callId);
  return state.phase === 'done' ? forbiddenBy(gate, state) : toGateAllowed(state, { request, plain });
}

/**
 * Opens a request. `refused`: a rule forbids the call.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, for an id that cannot be used, and for arguments that do
 * not fit.
 */
export async function opened<A extends object>(
  gate: GateState,
  { asked, args }: Plain<A>,
  given: string | undefined,
): Promise<{ callId: string; refused?: GateForbidden }> {
  if (given !== undefined && !(isCallId(given) && /^[A-Za-z0-9]/.test(given)))
    throw gateFailure(
      `${JSON.stringify(given)} cannot be a call id: use at most 64 letters, digits, ".", "_" and "-", and begin with a letter or a digit`,
    );
  const callId = nextCallId(gate, given);
  const call = await open(gate, asked, { callId, args });
  if (isValidCall(call)) return { callId };
  const { code, message = '' } = call.result.error ?? {};
  if (code !== 'refused') throw gateFailure(`${asked.tool ?? ''}: ${message}`);
  return { callId, refused: { callId, callKey: '', allowed: false, decision: 'refused', message } };
}

/** The decision that the workflow gets if a call is allowed. */
export function toGateAllowed<A extends object>(
  state: CallState,
  { request, plain }: { request: GateRequest<A>; plain: Plain<A> },
): GateAllowed<A> {
  const { call, callKey: key } = state;
  const by = decisionOf(state);
  if (by === undefined) throw gateFailure(`call ${call.callId} was never decided`);
  const { decision, decisionId, approver, reason } = by.decision;
  const said = { decision, decisionId, approver, reason, note: approvalNote(state) };
  const args = effectiveOf(state, { request, plain });
  return { ...said, callId: call.callId, callKey: key, allowed: true, arguments: args };
}

function effectiveOf<A extends object>(
  state: CallState,
  { request, plain }: { request: GateRequest<A>; plain: Plain<A> },
): A {
  if (state.edit === undefined) return request.arguments;
  if (plain.fits(state.effective)) return state.effective;
  throw gateFailure(`the changed arguments of ${request.tool} do not fit`);
}

/** The decision that the workflow gets if a call may not run. */
export function forbiddenBy(
  { approvals }: GateState,
  { call, callKey: key, result }: DoneCall,
): GateForbidden {
  return {
    callId: call.callId,
    callKey: key,
    allowed: false,
    decision: result.error?.code === 'denied' ? 'denied' : 'expired',
    message: result.error?.message ?? '',
    approver: standingOf(approvals, call.callId)?.approver,
  };
}
