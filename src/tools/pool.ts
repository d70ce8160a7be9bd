import { LRUCache } from 'lru-cache';
import { nothingDone } from './errors';

/** What is kept for later calls, such as processes. */
export interface PoolPlan<T> {
  /** What a person calls them: `processes`. */
  what: string;
  open(): Promise<T> | T;
  /** Resolves to whether all of it is gone. */
  close(one: T): Promise<boolean>;
  /** @default always */
  isAlive?(one: T): boolean;
  /** Milliseconds without a call after which one is closed. */
  idleMs: number;
  /** As many are open at once. Where another one is needed, the one that was used longest ago is closed. */
  most: number;
}

/** One that a call uses. Contract: it ends with `release` or `drop`. */
export interface Taken<T> {
  one: T;
  /** What became of the one before of this key, until a call is released that was not `unused`. */
  why: string | undefined;
  /** It waits for its next call, for a while. */
  release(how?: 'unused'): void;
  /** Closes it, and keeps the reason for the next call; resolves to whether all of it is gone. */
  drop(why: string): Promise<boolean>;
}

/** One for each key, which calls of that key share: the key of a handler's state. */
export interface Pool<T> {
  /**
   * The one of a key, opened where there is none.
   *
   * @throws ToolError that proves that nothing was done, where as many as there may be are in use; what `open` throws.
   */
  take(key: string): Promise<Taken<T>>;
  /** Closes all. */
  close(): Promise<void>;
}

/** As many keys are remembered whose ones were closed, to say so. */
const MOST_CLOSED = 1000;

interface Held<T> {
  made: Promise<T>;
  /** Once it is made. */
  one?: T;
  why?: string | undefined;
  /** Whether it has a place among those that may be open. */
  hasPlace: boolean;
  busy: number;
  idle?: NodeJS.Timeout;
}

export function createPool<T>(plan: PoolPlan<T>): Pool<T> {
  return new OpenPool(plan);
}

class OpenPool<T> implements Pool<T> {
  /** In the order of their last use. */
  private readonly held = new Map<string, Held<T>>();
  private readonly closed = new LRUCache<string, string>({ max: MOST_CLOSED });

  constructor(private readonly plan: PoolPlan<T>) {}

  async take(key: string): Promise<Taken<T>> {
    const before = this.held.get(key);
    if (before !== undefined && this.isDead(before)) await this.drop(key, before, 'it had ended by itself');
    const held = this.held.get(key) ?? this.begin(key);
    clearTimeout(held.idle);
    held.busy += 1;
    try {
      const one = await held.made;
      const { why } = held;
      return {
        ...{ one, why },
        release: (how) => this.release(key, held, how),
        drop: (reason) => this.drop(key, held, reason),
      };
    } catch (error) {
      held.busy -= 1;
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.held].map(([key, held]) => this.drop(key, held, 'the worker stops')));
  }

  private isDead({ one }: Held<T>): boolean {
    return one !== undefined && this.plan.isAlive?.(one) === false;
  }

  private begin(key: string): Held<T> {
    const made = Promise.resolve().then(async () => {
      await this.takePlace(held);
      return this.plan.open();
    });
    const held: Held<T> = { made, busy: 0, hasPlace: false, why: this.closed.get(key) };
    this.held.set(key, held);
    made.then(
      (one) => {
        held.one = one;
        this.closed.delete(key);
      },
      () => this.forget(key, held),
    );
    return held;
  }

  private async takePlace(held: Held<T>): Promise<void> {
    const { most, what } = this.plan;
    while ([...this.held.values()].filter(({ hasPlace }) => hasPlace).length >= most) {
      const oldest = [...this.held].find(([, { busy }]) => busy === 0);
      if (oldest === undefined)
        throw nothingDone(`${most} ${what} are busy, which is the most. Nothing ran. Try again later.`);
      await this.drop(...oldest, 'others needed its place');
    }
    held.hasPlace = true;
  }

  private release(key: string, held: Held<T>, how?: 'unused'): void {
    held.busy -= 1;
    if (how === undefined) delete held.why;
    if (this.held.get(key) !== held) return;
    this.held.delete(key);
    this.held.set(key, held);
    if (held.busy > 0) return;
    const close = (): void => void this.drop(key, held, 'it was idle for too long');
    held.idle = setTimeout(close, this.plan.idleMs).unref();
  }

  private async drop(key: string, held: Held<T>, why: string): Promise<boolean> {
    clearTimeout(held.idle);
    this.forget(key, held);
    this.closed.set(key, why);
    const one = await held.made.catch(() => undefined);
    return one === undefined || this.plan.close(one);
  }

  private forget(key: string, held: Held<T>): void {
    if (this.held.get(key) === held) this.held.delete(key);
  }
}
