import type { ConnectionLike } from '@temporalio/client';
import { ASK_MS, isLimited, serverBusy } from '../history/server-errors';

/**
 * The calls that the server counts against its limit of visibility, which is 10 calls a second for a namespace unless
 * set, and 30 on Temporal Cloud. Temporal's UI and all other programs of the namespace share the limit.
 */
const COUNTED: ReadonlySet<string> = new Set([
  ...['listWorkflowExecutions', 'countWorkflowExecutions', 'scanWorkflowExecutions'],
  ...['listWorkers', 'describeTaskQueue', 'listSchedules'],
]);

/** The time between two calls: two calls a second. */
const EVERY_MS = 500;
/**
 * The number of calls that need not wait when a program starts, or when it has made no call for five seconds. So a
 * command that ends soon is quick.
 */
const AT_ONCE = 10;
/** The first pause after a refusal, and the longest. */
const FIRST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 30_000;

/**
 * `reader`: calls of a program that reads the inbox again and again. These calls and all other calls are let through
 * alternately.
 */
type Lane = 'reader' | 'others';

/**
 * Lets two calls a second through to visibility. After the server has refused a call, lets none through for a while. It
 * does not measure by the time of day: if somebody set the time of day back by an hour, calls would wait for an hour.
 */
export class VisibilityLimit {
  private readonly waiting: Record<Lane, (() => void)[]> = { reader: [], others: [] };
  private last: Lane = 'others';
  private isStrict = false;
  private spare = AT_ONCE;
  private filledAt = performance.now();
  private nextAt = 0;
  private pausedUntil = 0;
  private refusals = 0;
  private timer: NodeJS.Timeout | undefined;

  /** Milliseconds until the next call may go out. */
  get pauseMs(): number {
    return Math.max(0, this.pausedUntil - performance.now());
  }

  /** From now on no call goes out early, because the program reads again and again. */
  beStrict(): void {
    this.isStrict = true;
    this.spare = 0;
  }

  /**
   * Makes one call when it may go out. A call that the server refuses because of its limit is made again.
   *
   * @throws CountersignError `server_busy` once the next attempt would be later than `patienceMs` from now.
   */
  async run<T>(lane: Lane, patienceMs: number, call: () => Promise<T>): Promise<T> {
    const until = performance.now() + patienceMs;
    for (;;) {
      if (performance.now() + this.pauseMs > until && this.pauseMs > 0)
        throw serverBusy('reading', { retryInMs: this.pauseMs });
      await this.turn(lane);
      try {
        const result = await call();
        this.refusals = 0;
        return result;
      } catch (error) {
        if (!isLimited(error)) throw error;
        this.pause();
        if (performance.now() + this.pauseMs > until)
          throw serverBusy('reading', { retryInMs: this.pauseMs, cause: error });
      }
    }
  }

  /**
   * Pauses twice as long after each refusal. A part of the pause is random, so that several programs do not come back
   * together.
   */
  private pause() {
    const longest = Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.refusals++);
    this.pausedUntil = performance.now() + longest * (0.5 + Math.random() / 2);
  }

  private turn(lane: Lane): Promise<void> {
    return new Promise((resolve) => {
      this.waiting[lane].push(resolve);
      this.letThrough();
    });
  }

  private letThrough() {
    if (this.timer !== undefined) return;
    const lane = this.nextLane();
    if (lane === undefined) return;
    const now = performance.now();
    this.fill(now);
    const wait = Math.max(this.pausedUntil, this.spare >= 1 ? 0 : this.nextAt) - now;
    if (wait > 0) {
      this.timer = setTimeout(() => {
        this.timer = undefined;
        this.letThrough();
      }, wait);
      return;
    }
    this.spare = Math.max(0, this.spare - 1);
    this.nextAt = now + EVERY_MS;
    this.last = lane;
    this.waiting[lane].shift()?.();
    this.letThrough();
  }

  private fill(now: number) {
    if (!this.isStrict) this.spare = Math.min(AT_ONCE, this.spare + (now - this.filledAt) / EVERY_MS);
    this.filledAt = now;
  }

  private nextLane(): Lane | undefined {
    const first: Lane = this.last === 'reader' ? 'others' : 'reader';
    return [first, this.last].find((lane) => this.waiting[lane].length > 0);
  }
}

/** How the calls of a connection are sent. */
interface LimitedBy {
  limit: VisibilityLimit;
  lane: Lane;
  /** The time that one call may wait for a server that refuses it, in milliseconds. */
  patienceMs: number;
}

/** A connection whose calls to visibility go through the limit. The deadline of a call begins after its wait there. */
export function limitVisibility<C extends ConnectionLike>(connection: C, by: LimitedBy): C {
  const { limit, lane, patienceMs } = by;
  const workflowService = new Proxy(connection.workflowService, {
    get: (service, name) => {
      const method: unknown = Reflect.get(service, name);
      if (typeof name !== 'string' || !COUNTED.has(name) || typeof method !== 'function') return method;
      return (...args: unknown[]) =>
        limit.run(lane, patienceMs, () =>
          connection.withDeadline(Date.now() + ASK_MS, async () => Reflect.apply(method, service, args)),
        );
    },
  });
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'workflowService') return workflowService;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Whether a call counts against the limit, by the last part of its path, such as `…/ListWorkflowExecutions`. */
export function isCounted(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return COUNTED.has(name.charAt(0).toLowerCase() + name.slice(1));
}
