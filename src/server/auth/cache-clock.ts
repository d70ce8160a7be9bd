/**
 * The clock of an `LRUCache`, which is read at each call. By default the cache keeps the time for a millisecond, with a
 * timer.
 */
export function cacheClock(now: () => number) {
  return { perf: { now }, ttlResolution: 0 };
}
