import { msToNumber, type StringValue } from '@temporalio/common/lib/time';
import type { Duration } from './types';

/** The longest time that can be asked for: ten years. More would leave the dates that Temporal can hold. */
const LONGEST_MS = 10 * 365 * 24 * 3600 * 1000;

/**
 * A duration in whole milliseconds.
 *
 * @throws Error that says what is wrong: not a time, below `least`, or more than ten years.
 */
export function toMilliseconds(duration: Duration, least = 1): number {
  const ms = Math.round(isText(duration) ? parseText(duration) : duration);
  if (!Number.isFinite(ms)) throw new Error(`${quote(duration)} is no time; write milliseconds or '30s'`);
  if (ms < least) throw new Error(`${quote(duration)} is too short; the least is ${least} ms`);
  if (ms > LONGEST_MS) throw new Error(`${quote(duration)} is too long; the most is ten years`);
  return ms;
}

function parseText(text: StringValue): number {
  try {
    return msToNumber(text);
  } catch {
    // ms throws for empty and overlong text and gives NaN for the rest; both are "no time" here.
    return Number.NaN;
  }
}

// The type of ms lists every spelling it takes; ms itself checks it.
function isText(duration: Duration): duration is StringValue {
  return typeof duration === 'string';
}

function quote(duration: Duration): string {
  return typeof duration === 'string' ? `'${duration}'` : String(duration);
}
