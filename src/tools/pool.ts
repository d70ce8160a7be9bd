import { LRUCache } from 'lru-cache';
import { nothingDone } from './errors';

/** How a pool makes and keeps its resources, such as processes. */
interface PoolPlan<T> {
  /** The word for the resources in messages: `processes`. */
  what: string;
  open(): Promise<T> | T;
  /** Closes a resource. Resolves to true when nothing is left of the resource. */
  close(one: T): Promise<boolean>;
  /** @default always */
  isAlive?(one: T): boolean;
  /** A resource is closed after this time without a call, in milliseconds. */
  idleMs: number;
  /** The most open resources. If another one is needed, the least recently used idle resource is closed. */
  most: number;
}

/** A resource in use by a call. Contract: the call ends with `release` or `drop`. */
interface TakenResource<T> {
  one: T;
  /**
   * Why the previous resource of this key was closed. The reason is kept until a call releases the resource without
   * `unused`.
   */
  why: string | undefined;
  /** Keeps the resource for the next call, for `idleMs` at most. */
  release(how?: 'unused'): void;
  /** Closes the resource, and keeps the reason for the next call. Resolves to true when nothing is left of it. */
  drop(why: string): Promise<boolean>;
}

/** The most keys of closed resources that we remember, to give the reason to the next call. */
const MOST_CLOSED = 1000;

interface Held<T> {
  made: Promise<T>;
  /** The resource, once it is made. */
  one?: T;
  why?: string;
  /** Whether the resource counts among the `most` open ones. */
  hasPlace: boolean;
  busy: number;
  idle?: NodeJS.Timeout;
}

/** One resource for each key. Calls with the same key, the key of a handler's state, share the resource. */
export class Pool<T> {
  /** The resources by key, in the order of their last use. */
  private readonly held = new Map<string, Held<T>>();
  private readonly closed = new LRUCache<string, string>({ max: MOST_CLOSED });

  constructor(private readonly plan: PoolPlan<T>) {}

  /**
   * The resource of a key. Opens a new one if there is none.
   *
   * @throws ToolError that proves that nothing was done, if all `most` resources are in use; and errors of `open`.
   */
  async take(key: string): Promise<TakenResource<T>> {
    const before = this.held.get(key);
    if (before !== undefined && this.isDead(before)) await this.drop(key, before, 'it had ended by itself');
    const held = this.held.get(key) ?? this.begin(key);
    clearTimeout(held.idle);
    held.busy += 1;
    try {
      const one = await held.made;
      const { why } = held;
      return {
        one,
        why,
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

  private isDead({ one }: Held<T>) {
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

  private async takePlace(held: Held<T>) {
    const { most, what } = this.plan;
    while ([...this.held.values()].filter(({ hasPlace }) => hasPlace).length >= most) {
      const oldest = [...this.held].find(([, { busy }]) => busy === 0);
      if (oldest === undefined)
        throw nothingDone(`${most} ${what} are busy, which is the most. Nothing ran. Try again later.`);
      await this.drop(...oldest, 'others needed its place');
    }
    held.hasPlace = true;
  }

  private release(key: string, held: Held<T>, how?: 'unused') {
    held.busy -= 1;
    if (how === undefined) delete held.why;
    if (this.held.get(key) !== held) return;
    this.held.delete(key);
    this.held.set(key, held);
    if (held.busy > 0) return;
    const close = () => void this.drop(key, held, 'it was idle for too long');
    held.idle = setTimeout(close, this.plan.idleMs).unref();
  }

  private async drop(key: string, held: Held<T>, why: string) {
    clearTimeout(held.idle);
    this.forget(key, held);
    this.closed.set(key, why);
    const one = await held.made.catch(() => undefined);
    return one === undefined || this.plan.close(one);
  }

  private forget(key: string, held: Held<T>) {
    if (this.held.get(key) === held) this.held.delete(key);
  }
}
