import { CancellationScope, condition, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import { type ApprovalContext, markChanged } from './approvals/state';
import { isIn } from './message-queue';
import type { Publisher } from './publish';

/**
 * Decides who reacts to a change. During a step, a change wakes the step, which then looks and publishes by itself.
 * Between steps the notifier publishes.
 *
 * A call that ended wakes its step immediately. Everything else (updates, signals, a cancellation, a timer) goes
 * through `condition()`, which resolves when the messages of the workflow task are answered. So history has a decision
 * before what we publish about it. A `condition()` for each call would add two promises to each step, and the SDK keeps
 * a stack for each promise.
 */
export class ChangeNotifier {
  /** The last revision to which a step or the publisher has reacted. */
  private seen = 0;
  private isInStep = false;
  /** Wakes the step. Undefined while no step waits. */
  private wake: (() => void) | undefined;

  constructor(
    private readonly context: ApprovalContext,
    private readonly publisher: Publisher,
  ) {}

  /** Publishes, then acts on changes until the workflow ends. */
  async run(): Promise<void> {
    const { runId } = workflowInfo();
    if (!this.isInStep) this.publish();
    while (isIn(runId)) {
      await condition(() => this.hasUnseen && (!this.isInStep || this.wake !== undefined));
      this.act();
    }
  }

  /** Called when a step begins. The step has seen all changes so far and reacts to later changes. */
  beginStep(): void {
    this.isInStep = true;
    this.seen = this.context.revision;
  }

  /** Called when the step is over. Publishes the last changes of the step. */
  endStep(): void {
    this.publish();
    this.isInStep = false;
  }

  /** Publishes all changes so far. */
  publish(): void {
    this.seen = this.context.revision;
    this.publisher.publish();
  }

  /** Whether there is a change to which neither the step nor the publisher has reacted. */
  get hasUnseen(): boolean {
    return this.context.revision !== this.seen;
  }

  /** Resolves at the next change that the step has to look at. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  /**
   * Called when a call has ended. If a message arrived earlier in this workflow task, `condition()` wakes the step
   * for both.
   */
  callEnded(): void {
    const isFirst = !this.hasUnseen;
    markChanged(this.context);
    if (isFirst) this.act();
  }

  private act(): void {
    if (!this.isInStep) return this.publish();
    this.seen = this.context.revision;
    this.wake?.();
    this.wake = undefined;
  }
}

/** The longest time from a deadline to its timer. */
const MOST_SPREAD_MS = 30_000;

/**
 * The time for which the timer of a deadline runs. It runs up to a hundredth longer than the time that is left. How
 * much longer comes from the random end of the run's id, so requests of one minute do not all expire in the same
 * second. A decision after the deadline is refused whether the timer has fired or not.
 */
export function timerMs(deadline: number, runId: string): number {
  const left = Math.max(1, deadline - Date.now());
  const part = (Number.parseInt(runId.slice(-4), 16) || 0) / 0x10000;
  return left + Math.floor(part * Math.min(MOST_SPREAD_MS, left / 100));
}

/** One timer for the earliest deadline of a step. A new deadline replaces the timer. */
export class DeadlineTimer {
  private at: number | null = null;
  private scope: CancellationScope | undefined;

  /** The timer also fires after the turn was cancelled, as long as `nonCancellable` is not cancelled. */
  constructor(
    private readonly nonCancellable: CancellationScope,
    private readonly notify: () => void,
  ) {}

  /** Lets the timer fire at workflow time `at` (ms). Null: never. Temporal's UI shows `summary`. */
  set(at: number | null, summary: string): void {
    if (at === this.at) return;
    this.scope?.cancel();
    this.at = at;
    this.scope = at === null ? undefined : this.start(at, summary);
  }

  private start(at: number, summary: string): CancellationScope {
    const scope = new CancellationScope({ cancellable: true, parent: this.nonCancellable });
    scope
      .run(() => sleep(timerMs(at, workflowInfo().runId), { summary }))
      .then(() => this.fired())
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
    return scope;
  }

  /**
   * Called when the timer fires. It fires early if a clock was set back. The same deadline then needs a new timer.
   */
  private fired(): void {
    this.at = null;
    this.notify();
  }
}
