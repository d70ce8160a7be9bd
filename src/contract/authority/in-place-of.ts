import { type Away, isOpenAt } from '../control/away';
import { type Authority, personIn, voterIn, votingOf } from './authority';
import { type InPlaceOf, isSameName } from './votes';
import { deputiesOf, type Deputy } from './who-may-vote';

/** A person in whose place somebody may decide, and until when. */
export interface InPlaceUntil extends InPlaceOf {
  /** ISO 8601. */
  until: string;
}

/** The out-of-office entries that are known, and a moment in milliseconds since 1970. */
interface AwayNow {
  entries: readonly Away[];
  now: number;
}

/** The places in which an approver may vote on a request at a moment. */
export function placesOf(authority: Authority, approver: string, { entries, now }: AwayNow): InPlaceUntil[] {
  const { people = [] } = authority;
  const voter = voterIn(authority, approver);
  const standIns = standInsAt(entries, now, (name) => personIn(people, name));
  return standIns.flatMap(({ voter: delegate, person, entry, until }) => {
    const may =
      isSameName(delegate, voter) && votingOf({ ...authority, standIns }, approver, { person, entry }).ok;
    return may ? [{ person, entry, until }] : [];
  });
}

/**
 * A person who votes in the place of somebody who is away. Both are named as in the approvers file, if the file has
 * them.
 */
export interface StandIn extends InPlaceUntil, Deputy {
  /**
   * The later of two moments: the start of the out-of-office, and the moment when it was taken. Milliseconds since
   * 1970.
   */
  since: number;
}

/** Everybody who stands in for somebody at a moment. */
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

/**
 * Returns a check that is true for people who may not vote at all, not even for themselves. Under `notRequester`, these
 * are the people who stand in for somebody who asked for the turn and is away.
 */
export function barredUnder(
  { rule, requesters }: Pick<Authority, 'rule' | 'requesters'>,
  standIns: readonly Deputy[],
): (name: string) => boolean {
  return rule.notRequester ? deputiesOf(requesters, { standIns }) : () => false;
}

/** Whether an approver may vote only in another person's place. */
function needsPlace(authority: Authority, approver: string): boolean {
  const voting = votingOf(authority, approver);
  return !voting.ok && (voting.why === 'unknown_person' || voting.why === 'not_named');
}

/** A person who votes, and the place that they name. */
interface VoterAsked {
  /** Absent: no rule says who decides. */
  authority: Authority | undefined;
  approver: string;
  /**
   * The person in whose place the approver votes, and the out-of-office entry if the approver names one. Absent: the
   * approver names no place.
   */
  named?: { person: string; entry?: string } | undefined;
}

/** Whether a vote depends on who is away. If it does not, nobody has to look that up. */
export function asksForPlace({ authority, approver, named }: VoterAsked): boolean {
  return named !== undefined || (authority !== undefined && needsPlace(authority, approver));
}

/**
 * The place in which somebody votes. Without `place` they vote for themselves, and the turn says whether they may.
 * `no_rule`: no rule says who decides, so there are no places. `not_theirs`: they may not vote in the place that they
 * named. `ambiguous`: they have to choose between these people.
 */
export type ChosenPlace =
  { place?: InPlaceUntil } | { why: 'no_rule' | 'not_theirs' } | { why: 'ambiguous'; people: string[] };

/**
 * Chooses the place in which somebody votes: the place that they name. Without a name, and if the rule does not name
 * the voter, it is the only place in which they may vote.
 */
export function choosePlace(voting: VoterAsked, away: AwayNow): ChosenPlace {
  const { authority, approver, named } = voting;
  if (!asksForPlace(voting)) return {};
  if (authority === undefined) return { why: 'no_rule' };
  const places = placesOf(authority, approver, away);
  const isNamed = ({ person, entry }: InPlaceUntil): boolean =>
    named === undefined || (isSameName(person, named.person) && entry === (named.entry ?? entry));
  const [place, ...others] = places.filter(isNamed);
  if (place !== undefined && others.length > 0)
    return { why: 'ambiguous', people: [place, ...others].map(({ person }) => person) };
  if (place !== undefined) return { place };
  return named === undefined ? {} : { why: 'not_theirs' };
}
