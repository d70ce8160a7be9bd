import { span } from '../contract/text/times';
import type { Spread } from './stats';

/** A share as a percentage, rounded down, so that a single failure never shows as 100 %. */
export function percentText(share: number): string {
  // 0.29 * 100 is a little less than 29.
  return `${Math.floor(Number((share * 100).toFixed(9)))} %`;
}

/** Median, tail and maximum in words. `-` if nothing was measured. */
export function spreadText({ p50, p95, max }: Spread, write: (value: number) => string = span): string {
  const parts = Object.entries({ p50, p95, max });
  return parts.map(([name, value]) => `${name} ${value === null ? '-' : write(value)}`).join(', ');
}

/** The number of turns that are missing in stats, in words. */
export function unreadText(turns: number): string {
  const [what, whose] = turns === 1 ? ['1 turn is', 'its'] : [`${turns} turns are`, 'their'];
  return `${what} not counted: ${whose} payloads cannot be decrypted here.`;
}
