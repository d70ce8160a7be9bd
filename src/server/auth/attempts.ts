import { LRUCache } from 'lru-cache';
import { CountersignError } from '../../contract/errors';
import { CACHE_CLOCK } from './cache-clock';

const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
/** The most addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/** Counts failed attempts to sign in, for each address they come from. */
export class Attempts {
  /** The times of the last failures of each address. Each failure counts for one minute. */
  private readonly failures = new LRUCache<string, number[]>({
    max: MAX_ADDRESSES,
    ttl: WINDOW_MS,
    ...CACHE_CLOCK,
  });

  /** @throws CountersignError `too_many_attempts` after 10 failures within a minute. */
  check(from: string): void {
    if (this.recent(from).length < MAX_FAILURES) return;
    throw new CountersignError(
      'too_many_attempts',
      'too many failed attempts to sign in',
      'wait a minute, then try again',
    );
  }

  failed(from: string): void {
    this.failures.set(from, [...this.recent(from), Date.now()].slice(-MAX_FAILURES));
  }

  private recent(from: string) {
    return (this.failures.peek(from) ?? []).filter((at) => Date.now() - at < WINDOW_MS);
  }
}
