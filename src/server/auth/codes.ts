import { digestSecret, drawSecret } from './secrets';

/** What became of a code: `stale` was good once, `unknown` never. */
export type Spent = 'good' | 'stale' | 'unknown';

/** One-time codes of the links that the terminal prints. */
export interface Codes {
  /** Draws a code: good once, and for 10 minutes. */
  draw(): string;
  /** `good` the first time and in time; the code is spent then. */
  spend(code: string): Spent;
}

const GOOD_MS = 10 * 60 * 1000;
/** Older links than these are forgotten. */
const MOST = 20;

/** No codes yet. `now` is the clock, in milliseconds. */
export function createCodes(now: () => number = Date.now): Codes {
  // Until when each is good.
  const codes = new Map<string, number>();
  return {
    draw: () => {
      const code = drawSecret();
      codes.set(digestSecret(code), now() + GOOD_MS);
      const [oldest] = codes.keys();
      if (codes.size > MOST && oldest !== undefined) codes.delete(oldest);
      return code;
    },
    spend: (code) => {
      const key = digestSecret(code);
      const until = codes.get(key);
      if (until === undefined) return 'unknown';
      codes.set(key, 0);
      return now() < until ? 'good' : 'stale';
    },
  };
}
