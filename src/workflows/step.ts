import { callKey } from '../contract/names';
import type { PreparedCall } from '../contract/call';
import { afterStep } from '../contract/spending/repeats';
import { ENDINGS } from '../contract/call-texts';
import type { ToolResult } from '../contract/result';
import { failureOf } from '../lifecycle/results';
import { act } from './approvals';
import { liveCall, untilTrue } from './call-life';
import type { Turn, TurnRuntime } from './turn-state';
import type { FinishedCall } from './think';
import { TurnCall } from './turn-call';
import { noteRequesters } from './session/words';
import { resultWithoutRun } from '../contract/dry-run';

interface StepOptions {
  /** The calls do not run, because too many steps before had the same calls. */
  isRefused?: boolean;
  /** Moves the turn to another build. Called while calls wait, if somebody asked for it. */
  move?: () => Promise<void>;
}

/** Runs the calls of one reply, until each has its result. Returns the results, in the model's order. */
export async function runStep(
  turn: Turn,
  calls: readonly PreparedCall[],
  runtime: TurnRuntime,
  { isRefused = false, move }: StepOptions = {},
): Promise<FinishedCall[]> {
  const { observer, queue, changes } = runtime;
  const isMoved = turn.moved !== undefined;
  open(turn, calls, isRefused);
  observer.begin(calls, isMoved);
  changes.begin();
  // Messages that arrived before are judged now. They are answered before the step acts on them, like later messages.
  queue.release();
  for (const callId of turn.approvals.calls.keys()) void liveCall(new TurnCall(turn, callId, runtime));
  // The step is over once everything that has happened is shown, so that history has it before the next reply.
  const isOver = (): boolean =>
    !changes.hasUnseen && [...turn.approvals.calls.values()].every(({ phase }) => phase === 'done');
  const isAsked = (): boolean => turn.isMoving && move !== undefined;
  while (!isOver()) {
    if (isAsked()) await move?.();
    await untilTrue(() => isOver() || isAsked());
  }
  noteRequesters(turn, turn.approvals.speakers);
  return calls.map((call) => finished(turn, call));
}

function open(turn: Turn, calls: readonly PreparedCall[], isRefused: boolean): void {
  act(turn, { type: 'began' });
  turn.reserved.clear();
  for (const call of calls) {
    if (call.kind !== 'run' && call.kind !== 'ask') continue;
    act(turn, { type: 'registered', call, callKey: callKey(turn.stepKey, call.callId), at: Date.now() });
  }
  for (const wait of turn.moved?.waits ?? []) act(turn, { type: 'taken_up', callId: wait.callId, wait });
  delete turn.moved;
  closeDry(turn);
  if (isRefused) refuseAll(turn);
  if (turn.approvals.cancelled) act(turn, { type: 'cancel' });
}

function finished(turn: Turn, call: PreparedCall): FinishedCall {
  const state = turn.approvals.calls.get(call.callId);
  if (state?.phase !== 'done') return { call, result: ownResult(call), ours: false };
  return { call, result: state.result, ours: state.contentDigest === undefined };
}

/** Notes a step with its results, to find steps that repeat it. */
export function noteStep(turn: Turn, calls: readonly PreparedCall[]): void {
  const digests = turn.results.map(({ digest }) => digest);
  turn.repeated = afterStep(turn, calls, digests);
}

/** The result of a call that never runs. It was prepared together with the call. */
function ownResult(call: PreparedCall): ToolResult {
  if (call.kind !== 'invalid' && call.kind !== 'recorded')
    throw new Error(`call ${call.callId} ended without a result`);
  return call.result;
}

/** Closes every call that a fork only records, before the call can start. */
function closeDry(turn: Turn): void {
  const timestamp = new Date(Date.now()).toISOString();
  for (const [callId, { call }] of turn.approvals.calls) {
    const result = resultWithoutRun(turn.fork, call, timestamp);
    if (result !== undefined) act(turn, { type: 'closed', callId, result, at: Date.now() });
  }
}

function refuseAll(turn: Turn): void {
  for (const [callId, state] of turn.approvals.calls) {
    const result = failureOf(state, ENDINGS.repeated, Date.now());
    act(turn, { type: 'closed', callId, cause: 'repeated', result, at: Date.now() });
  }
}
