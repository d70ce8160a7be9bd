/** What became of a promise that was given some time. */
export type Within<T> = { ended: true; value: T } | { ended: false };

/** Waits for a promise, but no longer than `ms`. A rejection passes through; one that comes later is not lost to the process. */
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
