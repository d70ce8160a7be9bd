import { CancellationScope, condition, inWorkflowContext, sleep, workflowInfo } from '@temporalio/workflow';
import { asError } from '../contract/errors';
import { areMessagesIntercepted, randomOfRun } from './sdk-internals';

/**
 * The most weight that one workflow task may judge, in units of `QueuedMessage.weight`: a quarter of a second. Further
 * messages wait for a timer, and a server fires the timers of one workflow about once a second.
 */
const MOST_WEIGHT = 2500;

/** A message that waits to be judged. */
interface QueuedMessage {
  /** The most time that judging the message may take. One unit is about 0.1 ms. */
  weight: number;
  judge(): void;
}

/**
 * Judges updates and signals in the order in which they arrived. Up to a limit, each message is judged when it arrives.
 * Further messages wait for later workflow tasks: they must not block the other turns of the worker, and the SDK ends a
 * workflow whose task takes too long.
 *
 * Temporal's own reset applies messages again, all in one workflow task. The first time, they arrive in the order of
 * history. In a replay, the signals come first. So in such a task all updates are judged before the signals. An update
 * is in history only if it was accepted. So a signal on the same call was refused, or came later.
 */
export class MessageQueue {
  private readonly waiting: QueuedMessage[] = [];
  private next = 0;
  private task = -1;
  private weight = 0;
  private isEmptying = false;
  /** The messages that this workflow task applies again after a reset. */
  private readonly reapplied = { updates: new Array<QueuedMessage>(), signals: new Array<QueuedMessage>() };
  private isReapplying = false;
  /** The length of history in the task after the last reset. */
  private resetAt = -Infinity;
  private held = false;
  private random = randomOfRun();
  private updates = 0;

  /** `onReset` is called once in the first task after a reset, before any message of that task is judged. */
  constructor(private readonly onReset: () => void = () => undefined) {
    // The SDK evaluates this condition in each workflow task, so a task without a message is noted, too.
    const ask = () => (this.enterTask(), false);
    void CancellationScope.nonCancellable(() => condition(ask));
  }

  /** Whether any message waits to be judged. */
  get isBehind(): boolean {
    return this.held || this.next < this.waiting.length || this.hasReapplied;
  }

  /** Whether this run continues from a reset and is past the point of the reset. */
  get wasReset(): boolean {
    return this.isBeforeReset(0);
  }

  /** Whether a workflow task, by the length of history in it, came before the last reset, or is the first after it. */
  isBeforeReset(task: number): boolean {
    this.enterTask();
    return task <= this.resetAt;
  }

  /** The number of updates that this run has taken so far. */
  get answered(): number {
    return this.updates;
  }

  /** Whether messages are held until `release`, so that none of them can be judged yet. */
  get isHeld(): boolean {
    return this.held;
  }

  /** Holds all further messages, because the calls that they name are not registered yet. */
  hold(): void {
    this.held = true;
  }

  /** Judges the messages that were held. */
  release(): void {
    if (!this.held) return;
    this.held = false;
    this.judgeWaiting();
    if (this.isBehind && !this.isEmptying) void this.empty();
  }

  /** Whether messages of before a reset wait for the others of their task. */
  get hasReapplied(): boolean {
    return this.reapplied.updates.length + this.reapplied.signals.length > 0;
  }

  /**
   * Whether somebody may still wait for an answer in the current workflow task. An interceptor of the application may
   * keep a message before we see it, or an answer after we gave it.
   */
  get hasMessages(): boolean {
    const hasJudged = this.weight > 0 && this.task === workflowInfo().historyLength;
    return hasJudged || this.isBehind || areMessagesIntercepted();
  }

  /** Judges a signal, immediately if there is room. Throws only what its judging throws. */
  add(message: QueuedMessage): void {
    this.enterTask();
    if (this.isReapplying) this.reapply(this.reapplied.signals, message);
    else this.take(message);
  }

  /** Judges an update, whose sender waits for the verdict. Throws what its judging throws. */
  answer<T>(weight: number, judge: () => T): T | Promise<T> {
    this.enterTask();
    this.updates += 1;
    if (!this.isReapplying && !this.isBehind && this.hasRoom({ weight })) return judge();
    return new Promise((resolve, reject) => {
      const answered = () => {
        try {
          resolve(judge());
        } catch (error) {
          reject(asError(error));
        }
      };
      const message = { weight, judge: answered };
      if (this.isReapplying) this.reapply(this.reapplied.updates, message);
      else this.take(message);
    });
  }

  private take(message: QueuedMessage) {
    if (!this.isBehind && this.hasRoom(message)) return message.judge();
    this.waiting.push(message);
    if (!this.isEmptying && !this.held) void this.empty();
  }

  /** Keeps a message until all messages of this workflow task have arrived. The SDK runs no promise before that. */
  private reapply(messages: QueuedMessage[], message: QueuedMessage) {
    if (!this.hasReapplied) void Promise.resolve().then(() => this.takeReapplied());
    messages.push(message);
  }

  private takeReapplied() {
    const { updates, signals } = this.reapplied;
    for (const message of [...updates.splice(0), ...signals.splice(0)]) this.take(message);
  }

  /**
   * Notes whether the current workflow task applies messages again after a reset. In such a task, the run has a new
   * source of random numbers.
   */
  private enterTask() {
    const { historyLength } = workflowInfo();
    if (historyLength === this.task) return;
    this.task = historyLength;
    this.weight = 0;
    const random = randomOfRun();
    this.isReapplying = random !== this.random;
    this.random = random;
    if (!this.isReapplying) return;
    this.resetAt = historyLength;
    this.onReset();
  }

  /** Waits until every message is judged. */
  async emptied(): Promise<void> {
    if (this.isBehind) await condition(() => !this.isBehind);
  }

  /** Adds weight that is known only after a message was read. */
  spend(weight: number): void {
    this.weight += weight;
  }

  /** Whether this workflow task has room for one more message. The first message of a task always has room. */
  private hasRoom({ weight }: Pick<QueuedMessage, 'weight'>) {
    this.enterTask();
    if (this.weight > 0 && this.weight + weight > MOST_WEIGHT) return false;
    this.weight += weight;
    return true;
  }

  /** Judges the waiting messages in later workflow tasks, even after the workflow was cancelled. */
  private async empty() {
    this.isEmptying = true;
    const { runId } = workflowInfo();
    while (this.isBehind && isIn(runId)) {
      await CancellationScope.nonCancellable(() => sleep(1, { summary: 'more messages to judge' }));
      this.judgeWaiting();
    }
    this.isEmptying = false;
  }

  /** Judges the waiting messages that this workflow task has room for. */
  private judgeWaiting() {
    for (let first = this.waiting[this.next]; first !== undefined; first = this.waiting[this.next]) {
      if (!this.hasRoom(first)) return;
      this.next += 1;
      first.judge();
    }
    this.waiting.length = 0;
    this.next = 0;
  }
}

/**
 * Whether this code still runs in the workflow in which it began. The SDK ends a workflow whose task takes too long in
 * the middle of its code. The rest of that code may then run inside another workflow, or outside any workflow.
 */
export function isIn(runId: string): boolean {
  return inWorkflowContext() && workflowInfo().runId === runId;
}
