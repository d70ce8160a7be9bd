import { condition } from '@temporalio/workflow';
import { touch, type Gated } from './gated';

/**
 * Wakes a step that waits. A call that ended rings at once; whatever else changes is met by the SDK's `condition`, whose
 * turn comes when every message of the workflow task is answered: what a step publishes of a decision must not come
 * before the decision itself on record. A condition for the calls too would cost each step two promises, of which the
 * SDK keeps the stacks, and a call into the sandbox.
 */
export class Bell {
  /** What the step has looked at, or is woken for. */
  private known = 0;
  private wake: (() => void) | undefined;

  constructor(private readonly gated: Gated) {}

  /** Waits for whatever else changes; runs until the workflow ends. */
  async run(): Promise<never> {
    for (;;) {
      await condition(() => this.wake !== undefined && this.isBehind);
      this.tell();
    }
  }

  /** A call has ended. Where a message came in the same workflow task it waits for that, too. */
  ring(): void {
    const isAlone = !this.isBehind;
    touch(this.gated);
    if (isAlone) this.tell();
  }

  /** The step has seen all there is. */
  look(): void {
    this.known = this.gated.revision;
  }

  /** The next time it rings. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  /** Whether something changed that the step was not woken for. */
  get isBehind(): boolean {
    return this.gated.revision !== this.known;
  }

  private tell(): void {
    this.look();
    this.wake?.();
    this.wake = undefined;
  }
}
