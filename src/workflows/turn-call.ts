import { CancellationScope, condition, isCancellation, sleep, uuid4 } from '@temporalio/workflow';
import type { NotHere, Paused, PreparedCall } from '../contract/call';
import { ENDINGS, nobodyHad } from '../contract/call-texts';
import { TIMES } from '../contract/limits';
import { failureOf } from '../lifecycle/results';
import type { Settlement } from '../lifecycle/starts';
import type { CallState, PreparingCall, AllowedCall } from '../lifecycle/state';
import { act, callIn } from './approvals';
import { type CallAttempt, prepareCall, scheduleCall, untilUnpaused } from './call-activities';
import { type Life, untilTrue } from './call-life';
import { releaseChild, runChild } from './child-turn';
import type { placesIn } from './order';
import { askVerify, outcomeOf, usedIn } from './outcome';
import { closeQuestions } from './questions';
import type { Turn, TurnRuntime } from './turn-state';

/** A call of a turn: it has a place in the order of its step, and runs as an activity of a worker or as a child turn. */
export class TurnCall implements Life {
  constructor(
    readonly context: Turn,
    readonly callId: string,
    private readonly runtime: TurnRuntime,
    /** Whether a ready call has its place in the order of the step. */
    private readonly mayStart: ReturnType<typeof placesIn>,
  ) {}

  until(isTrue: () => boolean): Promise<void> {
    return untilTrue(isTrue, this.runtime.nonCancellable);
  }

  prepare(state: PreparingCall): Promise<PreparedCall> {
    return prepareCall(this.context, state);
  }

  async place(): Promise<void> {
    const { states } = this.context;
    const isReady = (): boolean => this.state.phase === 'ready';
    const isNext = (): boolean => this.mayStart(this.state);
    // Calls that become ready together may want the same place. The first of them takes it, before any of them starts.
    while (isReady() && !(isNext() && states.reserve(this.state.call)))
      await this.until(() => !isReady() || isNext());
  }

  secretFor({ call: { settings } }: AllowedCall): string | undefined {
    return settings.effect === 'unsafe' || settings.askMs !== undefined ? uuid4() : undefined;
  }

  /** Schedules the call until a worker has taken it. */
  async attempt(): Promise<Settlement> {
    const { context: turn, callId, runtime } = this;
    const attempt: CallAttempt = { scheduledAt: 0, pauses: 0 };
    let settlement: Settlement | undefined;
    while (settlement === undefined) {
      // Asked first: it may note a reset, which makes the decision one of an earlier run.
      const isInherited = runtime.queue.isBeforeReset(turn.stepTask);
      const running = scheduleCall(turn, this.state, attempt, isInherited);
      const said = await outcomeOf(this.state, attempt, running);
      if ('child' in said) settlement = { result: await runChild(turn, this.state, said) };
      else if ('notHere' in said || 'paused' in said) settlement = await this.givenBack(attempt, said);
      else {
        releaseChild(turn, callId);
        settlement = said;
      }
    }
    turn.states.end(this.state.call, attempt.placed, usedIn(settlement));
    closeQuestions(turn, callId);
    return settlement;
  }

  verify(): () => void {
    this.context.counts.inDoubt += 1;
    const scope = new CancellationScope({ cancellable: true, parent: this.runtime.nonCancellable });
    scope.run(() => askVerify(this.context, this.callId)).catch(ignoreCancellation);
    return () => scope.cancel();
  }

  private get state(): CallState {
    return callIn(this.context, this.callId);
  }

  /**
   * Waits before a call that did not start is scheduled again, with the same key and decision. Returns a result instead
   * if the time to start is over or the turn was cancelled.
   */
  private async givenBack(attempt: CallAttempt, said: NotHere | Paused): Promise<Settlement | undefined> {
    const { context, callId } = this;
    const isHeld = 'paused' in said;
    const mayHaveRun = 'mayHaveRun' in said ? said.mayHaveRun : undefined;
    act(context, { type: 'given_back', callId, isHeld, mayHaveRun });
    const isOver = 'paused' in said ? await this.resumed(attempt) : await this.nextRound(attempt, said);
    if (isHeld) act(context, { type: 'given_back', callId, isHeld: false });
    if (isOver !== undefined) return isOver;
    if (!context.approvals.cancelled) return undefined;
    return { cause: 'neverStarted', result: failureOf(this.state, ENDINGS.neverStarted, Date.now()) };
  }

  /** The time of a pause does not count for the time to start. */
  private async resumed(attempt: CallAttempt): Promise<undefined> {
    const since = Date.now();
    attempt.pauses += 1;
    await untilUnpaused(this.context, this.state.call, attempt.pauses);
    if (attempt.absent !== undefined) attempt.absent.since += Date.now() - since;
  }

  /**
   * If the worker that held the state of the call did not take the call, that state is lost, and the call goes to the
   * task queue of its tool.
   */
  private async nextRound(attempt: CallAttempt, said: NotHere): Promise<Settlement | undefined> {
    const { states } = this.context;
    const { call } = this.state;
    const holder = attempt.placed?.holder;
    if (holder !== undefined) states.leave(call, holder);
    const absent = (attempt.absent ??= { since: attempt.scheduledAt, rounds: 0 });
    absent.rounds += 1;
    const waited = Date.now() - absent.since;
    const { startWithinMs } = call.settings;
    const left = startWithinMs - waited;
    if (left <= 0) return { cause: 'absent', result: failureOf(this.state, nobodyHad(said), Date.now()) };
    try {
      const summary = `${call.callId} waits for a worker that has it`;
      const pause = pauseAfter(waited, absent.rounds, startWithinMs);
      if (holder === undefined) await sleep(Math.min(left, pause), { summary });
      // Other calls may have lost the same state. The first of them finds the worker that will hold the state.
      else while (!states.reserve(call)) await condition(() => states.isFree(call));
    } catch (error) {
      ignoreCancellation(error);
    }
    return undefined;
  }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}

/**
 * The longest and the first wait before a call is scheduled again. With two workers, the right worker gets the call
 * after a few tries. The waits grow, because each round adds about ten events, and a server ends a run with 51,200. A
 * call that may wait for days waits longer between its rounds, so that sixteen such calls have room in one run.
 */
const MOST_PAUSE_MS = 60_000;
const MOST_LONG_ROUNDS = 200;
const SOON_MS = 500;

export function pauseAfter(waitedMs: number, round: number, startWithinMs: number): number {
  const most = Math.max(MOST_PAUSE_MS, startWithinMs / MOST_LONG_ROUNDS);
  return Math.min(most, Math.max(Math.min(TIMES.agentRetry, SOON_MS * 2 ** round), waitedMs / 10));
}
