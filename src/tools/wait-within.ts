/** The longest timer of Node in milliseconds, some 24 days. Node fires a longer one immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How waiting for a promise ended. */
type Within<T> = { ended: true; value: T } | { ended: false };

/** Waits for a promise, but no longer than `ms`. Rejects if the promise rejects. Ignores a rejection after `ms`. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<Within<T>> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<Within<T>>((resolve) => {
    timer = setTimeout(() => resolve({ ended: false }), ms);
  });
  try {
    return await Promise.race([promise.then((value): Within<T> => ({ ended: true, value })), over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a promise until a signal aborts; then rejects with the error that `toError` makes from its reason. */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  toError: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(toError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const stop = () => signal.removeEventListener('abort', onAbort);
    void Promise.resolve(promise).finally(stop).then(resolve, reject);
  });
}

/** Work that waits for earlier work. */
interface Queued<T> {
  own: Promise<T>;
  /**
   * Resolves when this work and all earlier work are over. So later work never starts early, even if this work is
   * aborted.
   */
  all: Promise<unknown>;
}

/** Does work after earlier work. If a signal aborts first, rejects with the error that `toError` makes. */
export function queueAfter<T>(
  before: Promise<unknown>,
  work: () => Promise<T>,
  { signal, toError }: { signal: AbortSignal; toError: () => unknown },
): Queued<T> {
  const own = unlessAborted(before, signal, toError).then(work);
  return { own, all: Promise.allSettled([before, own]) };
}
