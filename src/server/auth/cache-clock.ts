/**
 * The options that make an `LRUCache` read the time of day at each call. By default, a cache reads its clock at most once
 * a millisecond, and uses a timer for this.
 */
export const CACHE_CLOCK = { perf: Date, ttlResolution: 0 };
