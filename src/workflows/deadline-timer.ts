import { CancellationScope, sleep, workflowInfo } from '@temporalio/workflow';
import { nextDeadline } from '../lifecycle/endings';
import { type ApprovalContext, markChanged, unlessCancelled } from './call-life';

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

/** One timer for the earliest deadline of the calls that wait. A new deadline replaces the timer. */
export class DeadlineTimer {
  private at: number | null = null;
  private scope: CancellationScope | undefined;

  /** The timer also fires after the turn was cancelled, as long as `nonCancellable` is not cancelled. */
  constructor(
    private readonly context: ApprovalContext,
    private readonly nonCancellable: CancellationScope,
  ) {}

  /** Lets the timer fire at the next deadline. */
  look(): void {
    const at = nextDeadline(this.context.approvals);
    if (at === this.at) return;
    this.scope?.cancel();
    this.at = at;
    this.scope = at === null ? undefined : this.start(at);
  }

  private start(at: number): CancellationScope {
    const scope = new CancellationScope({ cancellable: true, parent: this.nonCancellable });
    const summary = 'a request expires or is escalated';
    scope
      .run(() => sleep(timerMs(at, workflowInfo().runId), { summary }))
      .then(() => this.fired())
      .catch(unlessCancelled);
    return scope;
  }

  /**
   * Called when the timer fires. It fires early if a clock was set back. The same deadline then needs a new timer.
   */
  private fired() {
    this.at = null;
    markChanged(this.context);
  }
}
