import { clock, day } from './times';

/** A moment for a record, with its day and zone, so that it can be read next week: `2026-11-22 08:12:03 UTC+1`. */
export function dateTime(iso: string): string {
  const minutes = -new Date(iso).getTimezoneOffset();
  const rest = Math.abs(minutes % 60);
  const hours = `${minutes > 0 ? '+' : ''}${Math.trunc(minutes / 60)}${rest === 0 ? '' : `:${rest}`}`;
  return `${day(iso)} ${clock(iso)} UTC${minutes === 0 ? '' : hours}`;
}
