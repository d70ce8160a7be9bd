import {
  CancellationScope,
  condition,
  getCurrentDetails,
  isCancellation,
  upsertMemo,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { defined } from '../../contract/defined';
import type { JsonObject } from '../../contract/json';
import { callKey, gateMemoKey, MEMO, SEARCH_ATTRIBUTES } from '../../contract/names';
import { expire, handOver, register, reopen, withdraw } from '../approvals/transitions';
import {
  type ApprovalContext,
  type Approvals,
  type CallState,
  carriedDecisions,
  makeApprovals,
  markChanged,
} from '../approvals/state';
import { DECISIONS, setVerdictHandlers } from '../handlers';
import { MessageQueue } from '../message-queue';
import {
  type CarriedGate,
  fitsLike,
  type Gate,
  type GateDecision,
  gateFailure,
  type GateOptions,
  type GateRequest,
  toCall,
  toEditedCall,
} from './request';
import { LIMITS } from '../../contract/limits';
import { ChangeNotifier } from '../changes';
import { Publisher } from '../publish';
import { currentDetails } from '../summary';

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);

// Temporal gives each workflow modules of its own, so this is one flag a workflow.
let isOpen = false;

/**
 * Lets people decide on calls of this workflow: it handles update `decide` and signal `approval`, which the inbox,
 * `countersign approve` and Temporal's own command line send. Call it once, at the beginning. The namespace needs
 * Countersign's search attributes: any `countersign worker` registers them.
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
  setVerdictHandlers(gate, new MessageQueue(), DECISIONS);
  upsertSearchAttributes([{ key: AGENT, value: workflowInfo().workflowType }]);
  if (options.about !== undefined)
    upsertMemo({ [MEMO.prompt]: options.about.slice(0, LIMITS.promptCharacters) });
  void CancellationScope.nonCancellable(() => gate.changes.run());
  return { ask: (request) => ask(gate, request), carry: () => carry(gate) };
}

async function ask<A extends JsonObject>(gate: GateState, request: GateRequest<A>): Promise<GateDecision<A>> {
  const state = open(gate, request);
  try {
    await decided(gate, state, request);
    return decisionOf(gate.approvals, state, request);
  } catch (error) {
    if (isCancellation(error)) withdraw(gate.approvals, state, Date.now());
    throw error;
  } finally {
    close(gate, state);
  }
}

/** Writes the whole request into the memo, so that history keeps it, before it is listed as open. */
function open<A extends JsonObject>(gate: GateState, request: GateRequest<A>): CallState {
  const { approvals } = gate;
  const callId = request.callId ?? `1.${gate.asked + 1}`;
  const call = toCall(request, callId);
  if (approvals.calls.has(callId) || approvals.closed.has(callId)) {
    throw gateFailure(`call id ${callId} was used before in this workflow`);
  }
  gate.asked += 1;
  if (approvals.calls.size === 0) gate.stepKey = uuid4();
  if (request.schema !== undefined) approvals.schemas.set(call.toolDigest, request.schema);
  const state = register(approvals, call, { callKey: callKey(gate.stepKey, callId), now: Date.now() });
  upsertMemo({ [gateMemoKey(callId)]: call });
  markChanged(gate);
  return state;
}

async function decided<A extends JsonObject>(
  gate: GateState,
  state: CallState,
  request: GateRequest<A>,
): Promise<void> {
  const isDecided = (): boolean => state.phase !== 'request';
  while (!isDecided()) {
    const { deadline } = state;
    if (deadline === null) await condition(isDecided);
    else await condition(isDecided, Math.max(1, deadline - Date.now()));
    expire(gate.approvals, Date.now());
    if (state.phase === 'replanning') askAgain(gate, state, request);
  }
}

/** Publishes the verdict on the edit before the new revision, so that history shows them in this order. */
function askAgain<A extends JsonObject>(gate: GateState, state: CallState, request: GateRequest<A>): void {
  gate.changes.publish();
  reopen(state, toEditedCall(request, state), Date.now());
  upsertMemo({ [gateMemoKey(state.call.callId)]: state.call });
  markChanged(gate);
}

/** Publishes at once: the workflow may end in this task, and its history must not end with an open request. */
function close(gate: GateState, { call }: CallState): void {
  gate.approvals.calls.delete(call.callId);
  markChanged(gate);
  gate.changes.publish();
  upsertMemo({ [gateMemoKey(call.callId)]: null });
}

function carry(gate: GateState): ReturnType<Gate['carry']> {
  if (gate.approvals.calls.size === 0) return carryGate(gate);
  throw gateFailure('requests are open; a workflow continues as new when they are decided');
}

/** A gate, with what its callers do not see. */
interface GateState extends ApprovalContext {
  /** How many requests there were. */
  asked: number;
  readonly changes: ChangeNotifier;
}

/** A gate with nothing open, or as the run before left it. */
function makeGate(carried?: CarriedGate): GateState {
  const context: ApprovalContext = {
    approvals: makeApprovals(carried?.spent),
    stepKey: '',
    signalVerdicts: [],
    signalCount: 0,
    signalsWaiting: 0,
    revision: 0,
  };
  const changes = new ChangeNotifier(context, new Publisher(context, keepOwn()));
  return Object.assign(context, { asked: carried?.asked ?? 0, changes });
}

/** What the next run needs. */
function carryGate({ asked, approvals }: GateState): CarriedGate {
  return { asked, spent: carriedDecisions(approvals) };
}

/** Current details that show what waits. When nothing waits, they are again what the workflow had set. */
function keepOwn(): ConstructorParameters<typeof Publisher>[1] {
  let own: string | undefined;
  return (open) => {
    if (open.length > 0) {
      own ??= getCurrentDetails();
      return currentDetails(open, 0);
    }
    const details = own ?? getCurrentDetails();
    own = undefined;
    return details;
  };
}

/** What `ask` returns. An allowed call is handed over: its decision is spent. */
function decisionOf<A extends JsonObject>(
  approvals: Approvals,
  state: CallState,
  request: GateRequest<A>,
): GateDecision<A> {
  const head = { callId: state.call.callId, callKey: state.callKey };
  if (state.phase === 'done') return { ...head, ...forbidden(state) };
  const { decision, decisionId, approver, reason } = handOver(approvals, state);
  const decided = { decision, decisionId, approver, ...defined({ reason }) };
  return { ...head, ...decided, allowed: true, arguments: effectiveOf(state, request) };
}

function forbidden({ result, standing }: CallState) {
  return {
    allowed: false as const,
    decision: result?.error?.code === 'denied' ? ('denied' as const) : ('expired' as const),
    message: result?.error?.message ?? '',
    ...defined({ approver: standing?.approver }),
  };
}

function effectiveOf<A extends JsonObject>(state: CallState, request: GateRequest<A>): A {
  if (state.edit === undefined) return request.arguments;
  if (fitsLike(request, state.effective)) return state.effective;
  throw gateFailure(`the changed arguments of ${request.tool} do not fit`);
}
