import { digestSecret, drawSecret } from './secrets';

/** One-time codes of the links that the terminal prints. */
export interface Codes {
  /** Draws a code: good once, and for 10 minutes. */
  draw(): string;
  /** True the first time and in time; the code is spent then. */
  spend(code: string): boolean;
}

const GOOD_MS = 10 * 60 * 1000;
/** Older links than these are forgotten. */
const MOST = 5;

/** No codes yet. `now` is the clock, in milliseconds. */
export function createCodes(now: () => number = Date.now): Codes {
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
      codes.delete(key);
      return until !== undefined && now() < until;
    },
  };
}
