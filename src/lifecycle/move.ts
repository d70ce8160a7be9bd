import { isValidCall, type PreparedCall, type RecordedCall, type RemoteCall } from '../contract/call';
import { mayHaveRun } from '../contract/call-texts';
import { isRaise } from '../contract/spending/budget';
import type { MovedCall, MovedStep, ThinkOutput } from '../contract/think';
import { type Approvals, type CallState, isOpen, resultOf } from './state';

/**
 * Why a turn cannot move to another build now, in words. Undefined: each open call waits for its first decision or
 * answer. A turn with a decided call does not move: the call would be prepared anew on the other build, and a decision
 * holds only for exactly what was shown. `isReset`: a reset made this run.
 */
export function whyHeld(
  { calls, cancelled }: Pick<Approvals, 'calls' | 'cancelled'>,
  isReset = false,
): string | undefined {
  if (isReset) return RESET_STAYS;
  if (cancelled) return 'it is being cancelled';
  const states = [...calls.values()];
  for (const state of states) {
    const why = whyCallHeld(state);
    if (why !== undefined) return `call ${state.call.callId} (${state.call.tool}) ${why}`;
  }
  return states.some(isOpen) ? undefined : 'it waits for no person: its model is at work';
}

/**
 * A continuation would hide which calls the run before the reset started. The run after the next steps may be on any
 * build.
 */
const RESET_STAYS =
  'a reset made this run, so it stays on its build: decide what waits, or fork the turn and cancel this one';

/** The phases in which a call keeps its turn on its build, in words. */
const BUSY: Readonly<Partial<Record<CallState['phase'], string>>> = {
  preparing: 'is being prepared anew for a person',
  ready: 'has a decision and is about to start',
  running: 'is running',
  in_doubt: 'is in doubt: resolve it first',
};

function whyCallHeld(state: CallState) {
  const { call, phase, edit, votes } = state;
  const busy = BUSY[phase];
  if (busy !== undefined || phase === 'done') return busy;
  if (isRaise(call.tool)) return 'asks for more budget: decide on it first';
  if (edit !== undefined) return 'was edited by a person: decide on it first';
  if (votes.length > 0) return 'has votes: decide on it first';
  return mayHaveRun(state) ? 'may have run: decide on it first' : undefined;
}

const ASKED_BEFORE = 'it waited for a decision when another build of the worker was deployed';

/**
 * The step of these calls, in the form in which the next run takes it up. `taskQueue` is the task queue of the turn.
 */
export function movedStep(approvals: Approvals, reply: ThinkOutput, taskQueue: string): MovedStep {
  const { replyId, model, finishReason, order, maxSteps, repeats } = reply;
  const calls = reply.calls.map((call) => movedCall(approvals.calls.get(call.callId), call, taskQueue));
  return {
    reply: {
      replyId,
      text: '',
      calls,
      schemas: {},
      model,
      finishReason,
      order,
      maxSteps,
      repeats,
    },
    waits: [...approvals.calls.values()].flatMap(movedWait),
  };
}

function movedCall(state: CallState | undefined, call: PreparedCall, taskQueue: string): PreparedCall {
  if (state === undefined || !isValidCall(call)) return call;
  const result = resultOf(state);
  return result === undefined ? remote(state, taskQueue) : recorded(state, result);
}

function recorded({ call }: CallState, result: RecordedCall['result']): RecordedCall {
  const { callId, id, tool, arguments: args, proposed = args } = call;
  return { kind: 'recorded', callId, id, tool, proposed, result };
}

function remote({ call }: CallState, ofTurn: string): RemoteCall {
  const { callId, id, tool, toolDigest, settings, arguments: args, proposed = args } = call;
  const { taskQueue = ofTurn } = settings;
  const raw = JSON.stringify(proposed);
  return { kind: 'remote', callId, id, tool, raw, taskQueue, toolDigest, askFirst: ASKED_BEFORE };
}

function movedWait(state: CallState): MovedCall[] {
  if (!isOpen(state)) return [];
  const { call, seenDigest, since, deadline, isOther } = state;
  return [{ callId: call.callId, seenDigest, since, deadline, isOther }];
}
