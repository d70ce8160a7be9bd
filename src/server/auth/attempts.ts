import { CountersignError } from '../../contract/errors';

/** Counts failed attempts to sign in, by where they come from. */
export interface Attempts {
  /** Errors: `too_many_attempts` after 10 failures within a minute. */
  check(from: string): void;
  failed(from: string): void;
}

const MOST = 10;
const WINDOW_MS = 60_000;
/** Addresses remembered; the oldest give way. */
const MOST_ADDRESSES = 10_000;

/** No failures yet. `now` is the clock, in milliseconds. */
export function createAttempts(now: () => number = Date.now): Attempts {
  const failures = new Map<string, number[]>();
  const recent = (from: string): number[] =>
    (failures.get(from) ?? []).filter((at) => now() - at < WINDOW_MS);
  return {
    check: (from) => {
      if (recent(from).length >= MOST) throw tooMany();
    },
    failed: (from) => {
      const at = [...recent(from), now()].slice(-MOST);
      failures.delete(from);
      failures.set(from, at);
      const [oldest] = failures.keys();
      if (failures.size > MOST_ADDRESSES && oldest !== undefined) failures.delete(oldest);
    },
  };
}

function tooMany(): CountersignError {
  return new CountersignError('too_many_attempts', 'too many failed attempts to sign in', {
    hint: 'wait a minute, then try again',
  });
}
