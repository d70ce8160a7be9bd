import { condition, workflowInfo } from '@temporalio/workflow';
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
