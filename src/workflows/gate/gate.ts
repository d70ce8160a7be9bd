import {
  CancellationScope,
  condition,
  isCancellation,
  upsertMemo,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { JsonObject } from '../../contract/json';
import { gatedMemo, MEMO, SEARCH_ATTRIBUTES } from '../../contract/names';
import { expire, register, withdraw } from '../approvals/transitions';
import type { CallState } from '../approvals/state';
import { openDecisionDoor } from '../decision-door';
import { touch } from '../gated';
import { gateFailure, toCall } from './call';
import { decisionOf } from './decision';
import { carryGate, makeGate, type GateState } from './state';
import type { Gate, GateDecision, GateOptions, GateRequest } from './types';

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const ABOUT_CHARS = 200;

// Temporal gives each workflow modules of its own, so this is one flag a workflow.
let isOpen = false;

/**
 * Opens this workflow to decisions: update `decide` and signal `approval`, by which the inbox, `countersign approve` and
 * Temporal's own command line reach it. Call it once, at the beginning. Its namespace has to know Countersign's search
 * attributes: any `countersign worker` registers them.
 *
 * @example
 * const gate = createGate({ about: `refund of ${order}` });
 * const decision = await gate.ask({ tool: 'refund_order', arguments: { order, amount }, schema });
 * if (decision.allowed) await refund(decision.arguments, decision.callKey);
 */
export function createGate(options: GateOptions = {}): Gate {
  if (isOpen) throw gateFailure('a workflow has one gate; ask it as often as you like');
  isOpen = true;
  const gate = makeGate(options.carried);
  openDecisionDoor(gate);
  upsertSearchAttributes([{ key: AGENT, value: workflowInfo().workflowType }]);
  if (options.about !== undefined) upsertMemo({ [MEMO.prompt]: options.about.slice(0, ABOUT_CHARS) });
  void CancellationScope.nonCancellable(() => gate.publisher.run());
  return { ask: (request) => ask(gate, request), carry: () => carry(gate) };
}

async function ask<A extends JsonObject>(gate: GateState, request: GateRequest<A>): Promise<GateDecision<A>> {
  const state = open(gate, request);
  try {
    await decided(gate, state);
    return decisionOf(gate.approvals, state, request);
  } catch (error) {
    if (isCancellation(error)) withdraw(gate.approvals, state, Date.now());
    throw error;
  } finally {
    close(gate, state);
  }
}

/** The whole request goes into the memo first, where history keeps it; then it is listed as open. */
function open(gate: GateState, request: GateRequest): CallState {
  const { approvals } = gate;
  const callId = request.callId ?? `1.${gate.asked + 1}`;
  const call = toCall(request, callId);
  if (approvals.calls.has(callId) || approvals.closed.has(callId)) {
    throw gateFailure(`call id ${callId} was used before in this workflow`);
  }
  gate.asked += 1;
  if (approvals.calls.size === 0) gate.stepKey = uuid4();
  if (request.schema !== undefined) approvals.schemas.set(call.toolDigest, request.schema);
  const state = register(approvals, call, { callKey: `${gate.stepKey}:${callId}`, now: Date.now() });
  upsertMemo({ [gatedMemo(callId)]: call });
  touch(gate);
  return state;
}

async function decided(gate: GateState, state: CallState): Promise<void> {
  const isDecided = (): boolean => state.phase !== 'request';
  while (!isDecided()) {
    const { deadline } = state;
    if (deadline === null) await condition(isDecided);
    else await condition(isDecided, Math.max(1, deadline - Date.now()));
    expire(gate.approvals, Date.now());
  }
}

/** Published at once: the workflow may end in this very task, and the record should not end with the request open. */
function close(gate: GateState, { call }: CallState): void {
  gate.approvals.calls.delete(call.callId);
  touch(gate);
  gate.publisher.publish();
  upsertMemo({ [gatedMemo(call.callId)]: null });
}

function carry(gate: GateState): ReturnType<Gate['carry']> {
  if (gate.approvals.calls.size === 0) return carryGate(gate);
  throw gateFailure('requests are open; a workflow continues as new when they are decided');
}
