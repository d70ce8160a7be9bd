import { LRUCache } from 'lru-cache';
import { TIMES } from '../../contract/limits';
import { cacheClock } from './cache-clock';
import { digestSecret, drawSecret } from './secrets';

/** `stale`: the code was issued, and is used or too old. `unknown`: the code was never issued. */
type CodeState = 'good' | 'stale' | 'unknown';

/** One-time codes of the links that the terminal prints. */
export interface Codes {
  /** Makes a code that is valid once, and for `TIMES.signIn`. */
  draw(): string;
  /** Uses a code up. Returns `good` the first time and within that time. */
  spend(code: string): CodeState;
}

/** The most codes that are remembered. */
const MAX_CODES = 20;

/** Makes a store without codes. `now` is the clock, in milliseconds. */
export function createCodes(now: () => number = Date.now): Codes {
  // A code that is used or too old stays known, because its link was real.
  const codes = new LRUCache<string, { isSpent: boolean }>({
    max: MAX_CODES,
    ttl: TIMES.signIn,
    allowStale: true,
    ...cacheClock(now),
  });
  return {
    draw: () => {
      const code = drawSecret();
      codes.set(digestSecret(code), { isSpent: false });
      return code;
    },
    spend: (code) => {
      const key = digestSecret(code);
      const known = codes.peek(key);
      if (known === undefined) return 'unknown';
      const isGood = !known.isSpent && codes.getRemainingTTL(key) > 0;
      known.isSpent = true;
      return isGood ? 'good' : 'stale';
    },
  };
}
