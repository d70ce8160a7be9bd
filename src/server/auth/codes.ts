import { LRUCache } from 'lru-cache';
import { TIMES } from '../../contract/limits';
import { CACHE_CLOCK } from './cache-clock';
import { digestSecret, drawSecret } from './secrets';

/** `stale`: the code was issued, and is used or too old. `unknown`: the code was never issued. */
type CodeState = 'good' | 'stale' | 'unknown';

/** The most codes that are remembered. */
const MAX_CODES = 20;

/** One-time codes of the links that the terminal prints. */
export class Codes {
  /** A code that is used or too old stays known, because its link was real. */
  private readonly codes = new LRUCache<string, { isSpent: boolean }>({
    max: MAX_CODES,
    ttl: TIMES.signIn,
    allowStale: true,
    ...CACHE_CLOCK,
  });

  /** Makes a code that is valid once, and for `TIMES.signIn`. */
  draw(): string {
    const code = drawSecret();
    this.codes.set(digestSecret(code), { isSpent: false });
    return code;
  }

  /** Uses a code up. Returns `good` the first time and within that time. */
  spend(code: string): CodeState {
    const key = digestSecret(code);
    const known = this.codes.peek(key);
    if (known === undefined) return 'unknown';
    const isGood = !known.isSpent && this.codes.getRemainingTTL(key) > 0;
    known.isSpent = true;
    return isGood ? 'good' : 'stale';
  }
}
