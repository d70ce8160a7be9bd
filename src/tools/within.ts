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
