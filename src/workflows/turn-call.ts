import { CancellationScope, condition, isCancellation, uuid4 } from '@temporalio/workflow';
import type { NotHere, Paused, PreparedCall } from '../contract/call';
import type { Settlement } from '../lifecycle/starts';
import type { CallState, PreparingCall, AllowedCall } from '../lifecycle/state';
import { callIn, type Life, untilTrue } from './call-life';
import { type CallAttempt, prepareCall, scheduleCall } from './call-activities';
import { waitGivenBack } from './call-rounds';
import { releaseChild, runChild } from './child-turn';
import type { placesIn } from './next-to-start';
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

  async until(isTrue: () => boolean): Promise<void> {
    await untilTrue(isTrue, this.runtime.nonCancellable);
  }

  prepare(state: PreparingCall): Promise<PreparedCall> {
    return prepareCall(this.context, state);
  }

  place(): Promise<void> | undefined {
    return this.takesPlace() ? undefined : this.untilPlaced();
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

  /** Calls that become ready together may want the same place. The first of them takes it. */
  private takesPlace(): boolean {
    return this.mayStart(this.state) && this.context.states.reserve(this.state.call);
  }

  private async untilPlaced(): Promise<void> {
    const isReady = (): boolean => this.state.phase === 'ready';
    do await this.until(() => !isReady() || this.mayStart(this.state));
    while (isReady() && !this.takesPlace());
  }

  /** If the worker that held the state of the call did not take the call, that state is lost. */
  private givenBack(attempt: CallAttempt, said: NotHere | Paused): Promise<Settlement | undefined> {
    const { states } = this.context;
    const { call } = this.state;
    const holder = attempt.placed?.holder;
    if (holder === undefined || 'paused' in said)
      return waitGivenBack(this.context, this.callId, { rounds: attempt, said });
    states.leave(call, holder);
    return waitGivenBack(this.context, this.callId, {
      rounds: attempt,
      said,
      // Other calls may have lost the same state. The first of them finds the worker that will hold the state.
      until: async () => {
        while (!states.reserve(call)) await condition(() => states.isFree(call));
      },
    });
  }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}
