import { uuid4 } from '@temporalio/workflow';
import { callKey } from '../contract/names';
import { addTime } from '../contract/spending/budget';
import type { ChildReady, NotHere, Paused, PreparedCall } from '../contract/call';
import { afterStep } from '../contract/spending/repeats';
import type { Order } from '../contract/tool';
import { ENDINGS } from '../contract/call-texts';
import type { ToolResult } from '../contract/result';
import { DeadlineTimer } from './deadline-timer';
import {
  cancelAll,
  closeCall,
  expire,
  failureOf,
  nextDeadline,
  register,
  reopen,
  settle,
  start,
} from './approvals/transitions';
import { escalate } from './approvals/votes';
import { releaseChild, runChild } from './child-turn';
import { askingCalls, closeQuestions } from './questions';
import { takeUpWaits } from './approvals/move-to-new-code';
import { type CallState, markChanged, type Settlement } from './approvals/state';
import { StepObserver } from './observe';
import type { Turn, TurnRuntime } from './turn-state';
import type { FinishedCall } from './think';
import { prepareCall, runCall, untilNextRound } from './call-activities';
import { isAtWork, untilResumed } from './paused-call';
import { settlementIn, settlementOf, startVerify, usedIn } from './outcome';
import { LIMITS } from '../contract/limits';
import { noteRequesters } from './session/words';
import { resultWithoutRun } from '../contract/dry-run';
import { sweepAbandoned } from './approvals/abandon';

/** The calls of one reply, until each has its result: `while (step.proceed()) await step.changed()`. */
export class Step {
  private readonly timer: DeadlineTimer;
  private readonly clock: WorkClock;
  private readonly observer: StepObserver;

  /** `isRefused`: the calls do not run, because too many steps before had the same calls. */
  constructor(
    private readonly turn: Turn,
    private readonly calls: readonly PreparedCall[],
    private readonly runtime: TurnRuntime,
    isRefused = false,
  ) {
    this.clock = new WorkClock(turn);
    this.timer = new DeadlineTimer(runtime.nonCancellable, () => markChanged(turn));
    this.observer = new StepObserver(turn, turn.moved !== undefined);
    open(turn, calls, isRefused);
    this.observer.begin(calls);
    runtime.changes.beginStep();
    // Messages that arrived before are judged now. They are answered before the step acts on them, like later messages.
    runtime.queue.release();
  }

  /** Starts and closes the calls that can start or close now. False: every call has its result. */
  proceed(): boolean {
    const { turn, runtime } = this;
    // A message arrived after the step was woken. The step waits until that message is answered.
    if (runtime.changes.hasUnseen) return true;
    advance(turn, runtime);
    this.observer.look();
    this.clock.tick(turn.approvals.calls.values());
    if ([...turn.approvals.calls.values()].every((state) => state.phase === 'done')) return this.close();
    this.timer.set(nextDeadline(turn.approvals), 'a request expires or is escalated');
    runtime.changes.publish();
    return true;
  }

  /** Waits until there may be more to do. */
  changed(): Promise<void> {
    return this.runtime.changes.next();
  }

  /** The results, in the model's order. */
  results(): FinishedCall[] {
    return this.calls.map((call) => finished(this.turn, call));
  }

  private close(): false {
    const { speakers } = this.turn.approvals;
    noteRequesters(this.turn, speakers);
    speakers.clear();
    this.timer.set(null, '');
    this.runtime.changes.endStep();
    return false;
  }
}

/**
 * Counts the time in which calls of this turn were at work and did not wait for a person. A child turn counts its own
 * time.
 */
class WorkClock {
  private since: number | undefined;

  constructor(private readonly turn: Turn) {}

  /** Has to be called at each change of the calls. */
  tick(states: Iterable<CallState>): void {
    const calls = [...states];
    const asking = askingCalls(calls);
    const now = Date.now();
    const { spending } = this.turn;
    if (this.since !== undefined) spending.spent = addTime(spending.spent, Math.max(0, now - this.since));
    this.since = calls.some((state) => isAtWork(state, asking)) ? now : undefined;
  }
}

function open(turn: Turn, calls: readonly PreparedCall[], isRefused: boolean): void {
  const now = Date.now();
  turn.approvals.calls.clear();
  for (const call of calls) {
    if (call.kind !== 'run' && call.kind !== 'ask') continue;
    register(turn.approvals, call, { callKey: callKey(turn.stepKey, call.callId), now });
  }
  takeUpWaits(turn.approvals, turn.moved?.waits ?? []);
  delete turn.moved;
  closeDry(turn, now);
  if (isRefused) refuseAll(turn, now);
  if (turn.approvals.cancelled) cancelAll(turn.approvals, now);
  markChanged(turn);
}

function finished(turn: Turn, call: PreparedCall): FinishedCall {
  const state = turn.approvals.calls.get(call.callId);
  if (state?.result === undefined) return { call, result: ownResult(call), ours: false };
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
function closeDry({ approvals, fork }: Turn, now: number): void {
  const timestamp = new Date(now).toISOString();
  for (const state of approvals.calls.values()) {
    const result = resultWithoutRun(fork, state.call, timestamp);
    if (result !== undefined) closeCall(approvals, state, { result });
  }
}

function refuseAll({ approvals }: Turn, now: number): void {
  for (const state of approvals.calls.values()) {
    if (state.phase === 'done') continue;
    closeCall(approvals, state, { cause: 'repeated', result: failureOf(state, ENDINGS.repeated, now) });
  }
}

/** Lets calls expire, and closes, prepares and starts calls, each when it is due. */
function advance(turn: Turn, runtime: TurnRuntime): void {
  const now = Date.now();
  expire(turn.approvals, now);
  escalate(turn.approvals, now);
  sweepAbandoned(turn.approvals, now);
  const states = [...turn.approvals.calls.values()];
  for (const state of states) if (state.phase === 'replanning') startReplan(turn, state);
  for (const state of nextToStart(states, turn.order))
    if (turn.states.isFree(state.call)) startCall(turn, state, runtime);
}

function startCall(turn: Turn, state: CallState, runtime: TurnRuntime): void {
  const decision = start(state);
  delete state.secret;
  delete state.asked;
  if (state.call.settings.effect === 'unsafe' || state.call.settings.askMs !== undefined)
    state.secret = uuid4();
  markChanged(turn);
  const end = (settlement: Settlement): void => {
    turn.states.end(state.call, state.placed, usedIn(settlement));
    closeQuestions(turn.approvals, state, Date.now());
    settle(turn.approvals, state, { settlement, now: Date.now() });
    if (state.phase === 'in_doubt') startVerify(turn, state, runtime.nonCancellable);
    runtime.changes.callEnded();
  };
  const run = (): void =>
    void runCall(turn, state, decision, runtime.queue.isBeforeReset(turn.stepTask)).then(
      (result) => apply(settlementIn(state, result)),
      (error: unknown) => apply(settlementOf(state, error, Date.now())),
    );
  const apply = (settlement: Settlement | NotHere | Paused | ChildReady): void => {
    if ('child' in settlement) void runChild(turn, state, settlement).then((result) => end({ result }));
    else if ('notHere' in settlement) void untilNextRound(turn, state, settlement).then(next);
    else if ('paused' in settlement) void untilResumed(turn, state, settlement).then(next);
    else {
      releaseChild(turn, state);
      end(settlement);
    }
  };
  const next = (over: Settlement | undefined): void => (over === undefined ? run() : end(over));
  delete state.absent;
  delete state.pauses;
  delete state.placed;
  run();
}

function startReplan(turn: Turn, state: CallState): void {
  if (state.replanningFor === state.effectiveDigest) return;
  state.replanningFor = state.effectiveDigest;
  void prepareCall(turn, state).then((prepared) => {
    delete state.replanningFor;
    reopen(state, prepared, Date.now());
    markChanged(turn);
  });
}

/**
 * The ready calls that start now, in the model's order.
 * - `lane`: pure calls start immediately, up to 16 at the same time. Calls with an effect start one at a time, the
 *   earliest ready one first. A call that waits for a decision does not block the lane. A call in doubt does, because
 *   its outcome is not known.
 * - `strict`: call n starts only after call n−1 has its result.
 * - `parallel`: every ready call starts, up to 16 at the same time.
 */
export function nextToStart(calls: readonly CallState[], order: Order): CallState[] {
  if (order === 'strict') return strictNext(calls);
  if (order === 'parallel') return firstFree(calls, () => true);
  return [...firstFree(calls, isPure), ...laneNext(calls)];
}

function strictNext(calls: readonly CallState[]): CallState[] {
  const first = calls.find((call) => call.phase !== 'done');
  return first?.phase === 'ready' ? [first] : [];
}

function laneNext(calls: readonly CallState[]): CallState[] {
  const effectful = calls.filter((call) => !isPure(call));
  if (effectful.some(holdsPlace)) return [];
  const next = effectful.find((call) => call.phase === 'ready');
  return next === undefined ? [] : [next];
}

function firstFree(calls: readonly CallState[], counts: (call: CallState) => boolean): CallState[] {
  const counted = calls.filter(counts);
  const free = LIMITS.pureAtOnce - counted.filter(holdsPlace).length;
  return counted.filter((call) => call.phase === 'ready').slice(0, Math.max(0, free));
}

function isPure(call: CallState): boolean {
  return call.call.settings.effect === 'pure';
}

function holdsPlace(call: CallState): boolean {
  return call.phase === 'running' || call.phase === 'in_doubt';
}
