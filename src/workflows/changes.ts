import { condition, workflowInfo } from '@temporalio/workflow';
import { act, type ApprovalContext } from './call-life';
import { isIn, type MessageQueue } from './message-queue';

/** Looks at what has changed, and does its own part: it publishes, reports, counts, or sets a timer. */
interface Watcher {
  look(): void;
}

/**
 * Reacts to changes until the workflow ends. `condition()` resolves when the messages of the workflow task are answered,
 * so history has a decision before what we publish about it.
 */
export class ChangeNotifier {
  /** The last revision to which the watchers have reacted. */
  private seen = -1;
  private wake = (): void => undefined;

  /** `isQuiet`: nothing is looked at before `begin`. `watchers` look in this order at what has changed. */
  constructor(
    private readonly context: ApprovalContext,
    private readonly watchers: readonly Watcher[],
    private readonly queue: Pick<MessageQueue, 'hasMessages' | 'hasReapplied'>,
    private isQuiet = false,
  ) {}

  /** Looks now, and at each change. */
  async run(): Promise<void> {
    const { runId } = workflowInfo();
    if (!this.isQuiet) this.look();
    while (isIn(runId)) {
      // The SDK asks between two messages, too, and those of before a reset are judged together.
      await condition(() => !this.isQuiet && this.hasUnseen && !this.queue.hasReapplied);
      this.look();
    }
  }

  /** Looks now if no message of the workflow task waits for an answer. The SDK's way through `condition()` costs more. */
  lookAlone(): void {
    if (!this.isQuiet && this.hasUnseen && !this.queue.hasMessages) this.look();
  }

  /**
   * Waits until it is true after a change at which the watchers have looked, also in a scope that is cancelled. Only one
   * may wait.
   */
  until(isTrue: () => boolean): Promise<void> {
    return new Promise((goOn) => {
      this.wake = () => {
        if (isTrue()) goOn();
      };
      this.wake();
    });
  }

  /** Called when there is something to show. */
  begin(): void {
    this.isQuiet = false;
  }

  /** Whether there is a change at which nobody has looked. */
  get hasUnseen(): boolean {
    return this.context.revision !== this.seen;
  }

  /** Closes what is due, and lets the watchers look. */
  look(): void {
    act(this.context, { type: 'look' });
    this.seen = this.context.revision;
    for (const watcher of this.watchers) watcher.look();
    this.wake();
  }
}
