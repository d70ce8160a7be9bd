import { LRUCache } from 'lru-cache';
import { CountersignError } from '../../contract/errors';
import { cacheClock } from './cache-clock';

/** Counts failed attempts to sign in, for each address they come from. */
export interface Attempts {
  /** @throws CountersignError `too_many_attempts` after 10 failures within a minute. */
  check(from: string): void;
  failed(from: string): void;
}

const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
/** The most addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/** Makes a counter without failures. `now` is the clock, in milliseconds. */
export function createAttempts(now: () => number = Date.now): Attempts {
  // The times of the last failures of each address. Each failure counts for one minute.
  const failures = new LRUCache<string, number[]>({
    max: MAX_ADDRESSES,
    ttl: WINDOW_MS,
    ...cacheClock(now),
  });
  const recent = (from: string) => (failures.peek(from) ?? []).filter((at) => now() - at < WINDOW_MS);
  return {
    check: (from) => {
      if (recent(from).length >= MAX_FAILURES)
        throw new CountersignError(
          'too_many_attempts',
          'too many failed attempts to sign in',
          'wait a minute, then try again',
        );
    },
    failed: (from) => void failures.set(from, [...recent(from), now()].slice(-MAX_FAILURES)),
  };
}
