import { type Away, isOpenAt } from '../control/away';
import { type Authority, personIn, voterIn, votingOf } from './authority';
import type { InPlaceOf } from './votes';

/** Whom somebody may decide for, and until when. */
export interface Place extends InPlaceOf {
  /** ISO 8601. */
  until: string;
}

/** In whose places somebody may vote on a request at a moment, by what is known of who is away. */
export function placesOf(
  authority: Authority,
  approver: string,
  { entries, now }: { entries: readonly Away[]; now: number },
): Place[] {
  const { people = [] } = authority;
  const voter = voterIn(authority, approver);
  return entries.flatMap((entry) => {
    const isFor = entry.to.toLowerCase() === voter.toLowerCase();
    const place = { person: personIn(people, entry.from) ?? entry.from, entry: entry.id };
    const may = isFor && isOpenAt(entry, now) && votingOf(authority, approver, place).ok;
    return may ? [{ ...place, until: entry.end }] : [];
  });
}

/** Whether somebody has to vote in another's place to vote at all. */
export function needsPlace(authority: Authority, approver: string): boolean {
  const voting = votingOf(authority, approver);
  return !voting.ok && (voting.why === 'unknown_person' || voting.why === 'not_named');
}
