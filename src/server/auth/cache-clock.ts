/** The clock of an `LRUCache`, asked each time: by default the cache remembers the time for a millisecond, by a timer. */
export function cacheClock(now: () => number) {
  return { perf: { now }, ttlResolution: 0 };
}
