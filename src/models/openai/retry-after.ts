/** More is a mistake of the server's, or a limit that no waiting mends within a day. */
const LONGEST_MS = 24 * 3600 * 1000;

/** How an HTTP date ends; `Date.parse` takes far more. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{8,30} GMT$/;

/**
 * How long a server asks to wait, in milliseconds, at most a day: `retry-after-ms`, or `retry-after` in seconds or as a
 * date. Undefined where it says nothing that can be read.
 *
 * @param headers Names in lower case.
 * @param now Milliseconds since the epoch.
 */
export function retryAfter(headers: Record<string, string>, now: number): number | undefined {
  const wait = numberOf(headers['retry-after-ms']) ?? secondsOf(headers['retry-after'], now);
  return wait === undefined ? undefined : Math.min(Math.ceil(wait), LONGEST_MS);
}

function secondsOf(value: string | undefined, now: number): number | undefined {
  const seconds = numberOf(value);
  if (seconds !== undefined) return seconds * 1000;
  if (value === undefined || !HTTP_DATE.test(value)) return undefined;
  const wait = Date.parse(value) - now;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function numberOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : undefined;
}
