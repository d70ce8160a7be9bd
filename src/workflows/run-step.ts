import { condition, patched, uuid4, type CancellationScope } from '@temporalio/workflow';
import type { PreparedCall } from '../contract/call';
import { PATCHES } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { ToolResult } from '../contract/result';
import { Alarm } from './alarm';
import type { Bell } from './bell';
import { reopen } from './approvals/replan';
import type { CallState, Settlement } from './approvals/state';
import { cancelAll, expire, register, settle, start, sweepAbandoned } from './approvals/transitions';
import { closeDry } from './fork';
import { touch } from './gated';
import { nextToStart } from './order';
import { hasRemote, keepSchemas, prepareCall, prepareRemote } from './prepare';
import type { Publisher } from './publish';
import { settlementOf } from './settlement';
import { runCall } from './tool-call';
import type { Turn } from './turn';
import { startVerify } from './verify';

/** A call that is over: what was asked, and what came of it. */
export interface FinishedCall {
  call: PreparedCall;
  result: ToolResult;
  /** SHA-256 of the content, where history already holds the text. */
  contentDigest?: string;
  /** Whether the result was made by this workflow, so that the worker cannot know its text. */
  ours: boolean;
}

/** What a step works with. */
export interface Hands {
  /** Cancelled with the turn. */
  work: CancellationScope;
  /** Goes on when the turn is cancelled. */
  shield: CancellationScope;
  publisher: Publisher;
  bell: Bell;
}

/** Works through the calls of one reply until each has its result. */
export async function runStep(turn: Turn, output: ThinkOutput, hands: Hands): Promise<FinishedCall[]> {
  turn.stepKey = stepKeyOf(turn, output);
  keepSchemas(turn, output);
  const calls = hasRemote(output) ? await prepareRemote(turn, output, hands.work) : output.calls;
  openStep(turn, calls);
  const { publisher, bell } = hands;
  const alarm = new Alarm(hands.shield, () => touch(turn));
  if (turn.isQuiet) publisher.hold();
  for (;;) {
    const seen = turn.revision;
    advance(turn, hands);
    if (isOver(turn)) break;
    alarm.set(nextDeadline(turn), 'a request expires');
    if (!turn.isQuiet) {
      // Turns of 0.2.0 and before look once more at what they did themselves, and leave publishing to a second waiter.
      await condition(() => turn.revision !== seen);
      continue;
    }
    publisher.publish();
    bell.look();
    do await bell.next();
    while (bell.isBehind);
  }
  alarm.set(null, '');
  if (turn.isQuiet) publisher.release();
  return calls.map((call) => finished(turn, call));
}

/**
 * The keys of a step's calls follow from its reply: a reset that keeps the reply keeps them, and what had started under
 * one is known by it; a model that is asked anew gives new ones. Turns of the first release drew them, and still do.
 */
function stepKeyOf({ isQuiet }: Turn, { replyId }: ThinkOutput): string {
  // The later patch says the earlier one as well.
  return isQuiet || patched(PATCHES.replyKeys) ? replyId : uuid4();
}

function openStep(turn: Turn, calls: readonly PreparedCall[]): void {
  const now = Date.now();
  turn.approvals.calls.clear();
  for (const call of calls) {
    if (call.kind !== 'run' && call.kind !== 'ask') continue;
    register(turn.approvals, call, { callKey: `${turn.stepKey}:${call.callId}`, now });
  }
  closeDry(turn, now);
  if (turn.approvals.cancelled) cancelAll(turn.approvals, now);
  touch(turn);
}

/** Everything that can happen now without waiting. */
function advance(turn: Turn, hands: Hands): void {
  const now = Date.now();
  expire(turn.approvals, now);
  sweepAbandoned(turn.approvals, now);
  const states = [...turn.approvals.calls.values()];
  for (const state of states) if (state.phase === 'replanning') startReplan(turn, state, hands);
  for (const state of nextToStart(states, turn.order)) startCall(turn, state, hands);
}

function startCall(turn: Turn, state: CallState, hands: Hands): void {
  const decision = start(state);
  touch(turn);
  const end = (settlement: Settlement): void => {
    settle(turn.approvals, state, { settlement, now: Date.now() });
    if (state.phase === 'in_doubt') startVerify(turn, state, hands.shield);
    hands.bell.ring();
  };
  void inWork(turn, hands, () => runCall(turn, state, decision)).then(end, (error: unknown) =>
    end(settlementOf(state, error, Date.now())),
  );
}

/** A quiet turn is in its work all the time; to enter it for each activity costs two promises. */
export function inWork<T>({ isQuiet }: Turn, { work }: Hands, job: () => Promise<T>): Promise<T> {
  return isQuiet ? job() : work.run(job);
}

function startReplan(turn: Turn, state: CallState, { work }: Hands): void {
  if (state.replanningFor === state.effectiveDigest) return;
  state.replanningFor = state.effectiveDigest;
  void work
    .run(() => prepareCall(turn, state))
    .then((prepared) => {
      delete state.replanningFor;
      reopen(state, prepared, Date.now());
      touch(turn);
    });
}

function isOver(turn: Turn): boolean {
  return [...turn.approvals.calls.values()].every((state) => state.phase === 'done');
}

function nextDeadline(turn: Turn): number | null {
  const deadlines = [...turn.approvals.calls.values()].flatMap((state) => state.deadline ?? []);
  return deadlines.length === 0 ? null : Math.min(...deadlines);
}

function finished(turn: Turn, call: PreparedCall): FinishedCall {
  const state = turn.approvals.calls.get(call.callId);
  if (state?.result === undefined) return { call, result: ownResult(call), ours: false };
  const { result, contentDigest } = state;
  return contentDigest === undefined
    ? { call, result, ours: true }
    : { call, result, contentDigest, ours: false };
}

/** Of a call that brought its result along. */
function ownResult(call: PreparedCall): ToolResult {
  if (call.kind !== 'invalid' && call.kind !== 'recorded')
    throw new Error(`call ${call.callId} ended without a result`);
  return call.result;
}
