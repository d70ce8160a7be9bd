import { DAY, HOUR, MINUTE, SECOND } from '../limits';

/** A time of day on this machine's clock, `08:12:03`. */
export function clock(iso: string): string {
  const date = new Date(iso);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

/** A day on this machine's calendar, `2026-11-22`. */
export function day(iso: string): string {
  const date = new Date(iso);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
}

/** A moment for people who may be anywhere: `2026-11-22 07:12 UTC`. */
export function utc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Whether a text is the one form of a moment that signed texts and grants have, and the moment exists. */
export function isMoment(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}

function twoDigits(part: number) {
  return String(part).padStart(2, '0');
}

/** A duration in words: `12 ms`, `3.4 s`, `5 min`, `2 h`, `7 days`. */
export function span(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} days`;
}

/** A time as seen from now: `3 min ago`, `in 7 days`, `now`. */
export function relative(iso: string, now: number): string {
  const ms = new Date(iso).getTime() - now;
  if (Math.abs(ms) < SECOND) return 'now';
  return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
}

/** When a request expires: `in 7 days`, `expired 3 min ago`, `never`. */
export function expiry(deadline: string | null, now: number): string {
  if (deadline === null) return 'never';
  const passed = new Date(deadline).getTime() <= now;
  return passed ? `expired ${relative(deadline, now)}` : relative(deadline, now);
}

/** A moment for a record, with its day and zone, so that it can be read next week: `2026-11-22 08:12:03 UTC+1`. */
export function dateTime(iso: string): string {
  const minutes = -new Date(iso).getTimezoneOffset();
  const rest = Math.abs(minutes % 60);
  const hours = `${minutes > 0 ? '+' : ''}${Math.trunc(minutes / 60)}${rest === 0 ? '' : `:${rest}`}`;
  return `${day(iso)} ${clock(iso)} UTC${minutes === 0 ? '' : hours}`;
}
