import { CancellationScope, condition, inWorkflowContext, sleep, workflowInfo } from '@temporalio/workflow';
import { asError } from '../contract/errors';

/**
 * The most that one workflow task may judge, in units of `QueuedMessage.weight`: a quarter of a second. Each further task
 * waits for a timer, and a server fires the timers of one workflow about once a second.
 */
const MOST_WEIGHT = 2500;

/** A message that waits to be judged. */
export interface QueuedMessage {
  /** How long it may take to judge: 1 is about 0.1 ms. */
  weight: number;
  judge(): void;
}

/**
 * Judges updates and signals in the order in which they came. Up to a limit each is judged as it comes. The rest of a flood
 * waits for later workflow tasks: it must not block the other turns of its worker, and the SDK ends a workflow whose task
 * takes too long.
 */
export class MessageQueue {
  private readonly waiting: QueuedMessage[] = [];
  private next = 0;
  private task = -1;
  private weight = 0;
  private isEmptying = false;

  /** Whether messages of earlier workflow tasks wait. */
  get isBehind(): boolean {
    return this.next < this.waiting.length;
  }

  /** Judges a message, now if there is room. Throws only what the message throws. */
  add(message: QueuedMessage): void {
    if (!this.isBehind && this.hasRoom(message)) return message.judge();
    this.waiting.push(message);
    if (!this.isEmptying) void this.empty();
  }

  /** Judges a message whose sender waits for the verdict. Throws what the message throws. */
  answer<T>(weight: number, judge: () => T): T | Promise<T> {
    if (!this.isBehind && this.hasRoom({ weight })) return judge();
    return new Promise((resolve, reject) => {
      const answered = (): void => {
        try {
          resolve(judge());
        } catch (error) {
          reject(asError(error));
        }
      };
      this.add({ weight, judge: answered });
    });
  }

  /** Waits until every message is judged. */
  async emptied(): Promise<void> {
    if (this.isBehind) await condition(() => !this.isBehind);
  }

  /** Adds work that shows only while a message is judged: at most 50 ms. */
  spend(weight: number): void {
    this.weight += weight;
  }

  /** Whether this workflow task has room for one more. It always has room for the first. */
  private hasRoom({ weight }: Pick<QueuedMessage, 'weight'>): boolean {
    const { historyLength } = workflowInfo();
    if (historyLength !== this.task) this.weight = 0;
    this.task = historyLength;
    if (this.weight > 0 && this.weight + weight > MOST_WEIGHT) return false;
    this.weight += weight;
    return true;
  }

  /** Judges the rest in later workflow tasks, even after the workflow was cancelled. */
  private async empty(): Promise<void> {
    this.isEmptying = true;
    const { runId } = workflowInfo();
    while (this.isBehind && isIn(runId)) {
      await CancellationScope.nonCancellable(() => sleep(1, { summary: 'more messages to judge' }));
      for (let first = this.waiting[this.next]; first !== undefined; first = this.waiting[this.next]) {
        if (!this.hasRoom(first)) break;
        this.next += 1;
        first.judge();
      }
    }
    this.waiting.length = 0;
    this.next = 0;
    this.isEmptying = false;
  }
}

/**
 * Whether this code still runs in the workflow that it began in. The SDK ends a workflow whose task takes too long, in the
 * middle of its code. The rest of that code may then run inside another workflow, or outside of any.
 */
export function isIn(runId: string): boolean {
  return inWorkflowContext() && workflowInfo().runId === runId;
}
