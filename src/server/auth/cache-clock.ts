/**
 * The options that make an `LRUCache` read this clock at each call. By default, a cache reads its clock at most once a
 * millisecond, and uses a timer for this.
 */
export function cacheClock(now: () => number) {
  return { perf: { now }, ttlResolution: 0 };
}
