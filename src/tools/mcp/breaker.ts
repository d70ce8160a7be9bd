/** A server that ran for this long counts as working. */
const STABLE_MS = 30_000;
const FIRST_MS = 500;
const LONGEST_MS = 60_000;
/** A call does not wait longer than this. */
const PATIENCE_MS = 5_000;

/**
 * Lets a server start again immediately after its first end. After each further early end, the wait doubles, up to a
 * minute. While the wait is longer than a call can wait, calls fail without a start.
 */
export function createBreaker() {
  let ends = 0;
  let startedAt: number | undefined;
  let nextAt = 0;
  const left = () => Math.max(0, nextAt - performance.now());
  return {
    /** The time to wait before the next start. Undefined if this is too long for a call. */
    waitMs: () => (left() > PATIENCE_MS ? undefined : left()),
    /** Seconds until the next start. */
    seconds: () => Math.ceil(left() / 1000),
    started: () => void (startedAt = performance.now()),
    /** Notes that the server ended, or did not start. */
    ended() {
      const hasWorked = startedAt !== undefined && performance.now() - startedAt >= STABLE_MS;
      startedAt = undefined;
      ends = hasWorked ? 1 : ends + 1;
      nextAt =
        performance.now() + (ends === 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(ends - 2, 20)));
    },
  };
}
