import { expiry } from '../../contract/times';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const SOON_MS = 15 * MINUTE;

/** How near a deadline is: within a quarter of an hour it is `soon`. */
export function urgencyOf(deadline: string | null, now: number): 'none' | 'soon' | 'past' {
  if (deadline === null) return 'none';
  const left = Date.parse(deadline) - now;
  if (left <= 0) return 'past';
  return left <= SOON_MS ? 'soon' : 'none';
}

/** When a request expires, to the second where it is soon: `in 4:05`, `in 3 h`, `expired 2 min ago`, `no deadline`. */
export function countdown(deadline: string | null, now: number): string {
  if (deadline === null) return 'no deadline';
  if (urgencyOf(deadline, now) !== 'soon') return expiry(deadline, now);
  const seconds = Math.ceil((Date.parse(deadline) - now) / SECOND);
  return `in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
