/** How waiting for a promise ended. */
export type Within<T> = { ended: true; value: T } | { ended: false };

/** Waits for a promise, but no longer than `ms`. A rejection passes through; one that comes later does not end the process. */
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

/** Waits for a promise until a signal aborts; then rejects with what `toError` makes of the signal's reason. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  toError: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(toError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  return Promise.race([aborted, promise]).finally(stop);
}

/** Work that waits for what was asked before it. */
export interface Queued<T> {
  own: Promise<T>;
  /** Resolves when it and all before it are over: one that gave up lets nobody pass those before it. */
  all: Promise<unknown>;
}

/** Does work after what was asked before it, unless a signal aborts first; then rejects with what `toError` makes. */
export function queueAfter<T>(
  before: Promise<unknown>,
  work: () => Promise<T>,
  { signal, toError }: { signal: AbortSignal; toError: () => unknown },
): Queued<T> {
  const own = unlessAborted(before, signal, toError).then(work);
  return { own, all: Promise.allSettled([before, own]) };
}
