import { LRUCache } from 'lru-cache';
import { cacheClock } from './cache-clock';
import { digestSecret, drawSecret } from './secrets';

/** `stale`: the code was drawn, and is used or too old. `unknown`: it was never drawn. */
type CodeState = 'good' | 'stale' | 'unknown';

/** One-time codes of the links that the terminal prints. */
export interface Codes {
  /** Draws a code that is valid once, and for 10 minutes. */
  draw(): string;
  /** Uses a code up; `good` the first time and within 10 minutes. */
  spend(code: string): CodeState;
}

const CODE_LIFETIME_MS = 10 * 60 * 1000;
/** Codes that are remembered. */
const MAX_CODES = 20;

/** No codes yet. `now` is the clock, in milliseconds. */
export function createCodes(now: () => number = Date.now): Codes {
  // A code that is used or too old stays known: its link was real.
  const codes = new LRUCache<string, { isSpent: boolean }>({
    max: MAX_CODES,
    ttl: CODE_LIFETIME_MS,
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
