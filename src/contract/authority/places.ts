import { type Away, isOpenAt } from '../control/away';
import { type Authority, personIn, voterIn, votingOf } from './authority';
import { type InPlaceOf, isSameName } from './votes';

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
    const isFor = isSameName(entry.to, voter);
    const place = { person: personIn(people, entry.from) ?? entry.from, entry: entry.id };
    const may = isFor && isOpenAt(entry, now) && votingOf(authority, approver, place).ok;
    return may ? [{ ...place, until: entry.end }] : [];
  });
}

/** Who votes in whose place at a moment, by their names in the file where they have one. */
export interface StandIn extends Place {
  voter: string;
  /** When both were known: its start, and that it was taken. Milliseconds since 1970. */
  since: number;
}

/** All who stand in for somebody at a moment. */
export function standInsAt(
  entries: readonly Away[],
  now: number,
  nameOf: (name: string) => string | undefined = () => undefined,
): StandIn[] {
  return entries
    .filter((entry) => isOpenAt(entry, now))
    .map(({ id: entry, from, to, start, takenAt, end: until }) => ({
      ...{ voter: nameOf(to) ?? to, person: nameOf(from) ?? from, entry, until },
      since: Math.max(Date.parse(start), Date.parse(takenAt)),
    }));
}

/** Whether somebody has to vote in another's place to vote at all. */
export function needsPlace(authority: Authority, approver: string): boolean {
  const voting = votingOf(authority, approver);
  return !voting.ok && (voting.why === 'unknown_person' || voting.why === 'not_named');
}
