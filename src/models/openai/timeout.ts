import { msToNumber, type StringValue } from '@temporalio/common/lib/time';

/** No reply is worth waiting longer for, and no timer of Node's reaches beyond 24 days. */
const LONGEST_MS = 24 * 3600 * 1000;

/** A time in whole milliseconds; undefined where it is none, or not between 1 ms and a day. */
export function readTimeout(timeout: number | string): number | undefined {
  const ms = Math.round(isText(timeout) ? parse(timeout) : timeout);
  return ms >= 1 && ms <= LONGEST_MS ? ms : undefined;
}

function parse(text: StringValue): number {
  try {
    return msToNumber(text);
  } catch {
    // ms throws for empty and overlong text and gives NaN for the rest; both are no time.
    return Number.NaN;
  }
}

// The type of ms lists every spelling it takes; ms itself checks it.
function isText(timeout: number | string): timeout is StringValue {
  return typeof timeout === 'string';
}
