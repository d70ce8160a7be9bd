import { LIMITS } from '../../contract/limits';
import { estimatedTokens } from '../../contract/spending/usage';

/** The most that an agent can allow, in tokens. A memory of this size can take one more turn and stay within its limit. */
const MOST = estimatedTokens(0.8 * LIMITS.sessionMemoryBytes);

/** The part of the limit that the newest turns keep word by word. */
const KEEP = 0.4;

/** Turns that take less than this part of the limit are not worth a summary. */
const LEAST = 0.1;

/**
 * Without a summary, a memory shrinks to this part of its limit, because the next turn reads the whole memory again.
 */
const SHRINK_TO = 0.7;

/** The oldest turns, which a summary is to replace. `entries` includes the entry of an earlier summary. */
export interface OldestPart {
  turns: number;
  entries: number;
}

/** The tokens of conversation over which the oldest turns are summarized. `over` is `limits.compactOver` of the agent. */
export function compactionLimit(over: number): number {
  return Math.min(over, MOST);
}

/**
 * The number of the oldest turns that a summary replaces, so that the newest stay word by word. `sizes` are the tokens
 * of the turns, oldest first.
 */
export function turnsToSummarize(sizes: readonly number[], limit: number): number {
  const replaced = sizes.slice(0, sizes.length - turnsKept(sizes, limit * KEEP));
  const gain = replaced.reduce((sum, size) => sum + size, 0);
  return gain < limit * LEAST ? 0 : replaced.length;
}

/** The number of the newest turns that take at most `most` tokens. At least one. */
function turnsKept(sizes: readonly number[], most: number) {
  let left = most;
  const out = sizes.toReversed().findIndex((size) => (left -= size) < 0);
  return out === -1 ? sizes.length : Math.max(1, out);
}

/** Without a summary, a memory with this limit shrinks to the returned size. */
export function shrunkSize(limit: number): number {
  return limit * SHRINK_TO;
}

/** The number of the oldest turns to leave out to save `excess` bytes. `sizes` are in bytes. The last turn stays. */
export function turnsToLeaveOut(sizes: readonly number[], excess: number): number {
  let left = excess;
  const kept = sizes.slice(0, -1).findIndex((size) => {
    if (left <= 0) return true;
    left -= size;
    return false;
  });
  return kept === -1 ? Math.max(0, sizes.length - 1) : kept;
}
