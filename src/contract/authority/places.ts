import { type Away, isOpenAt } from '../control/away';
import { type Authority, personIn, voterIn, votingOf } from './authority';
import { deputiesOf, type Deputy, type InPlaceOf, isSameName } from './votes';

/** Whom somebody may decide for, and until when. */
export interface Place extends InPlaceOf {
  /** ISO 8601. */
  until: string;
}

/** What is known of who is away, at a moment in milliseconds since 1970. */
interface AwayNow {
  entries: readonly Away[];
  now: number;
}

/** In whose places somebody may vote on a request at a moment, by what is known of who is away. */
export function placesOf(authority: Authority, approver: string, { entries, now }: AwayNow): Place[] {
  const { people = [] } = authority;
  const voter = voterIn(authority, approver);
  const standIns = standInsAt(entries, now, (name) => personIn(people, name));
  return standIns.flatMap(({ voter: delegate, person, entry, until }) => {
    const may =
      isSameName(delegate, voter) && votingOf({ ...authority, standIns }, approver, { person, entry }).ok;
    return may ? [{ person, entry, until }] : [];
  });
}

/** Who votes in whose place at a moment, by their names in the file where they have one. */
export interface StandIn extends Place, Deputy {
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

/**
 * Says of whom they do not vote at all, not as themselves either: under `notRequester`, who stands in for somebody who
 * asked and is away.
 */
export function barredUnder(
  { rule, requesters }: Pick<Authority, 'rule' | 'requesters'>,
  standIns: readonly Deputy[],
): (name: string) => boolean {
  return rule.notRequester ? deputiesOf(requesters, { standIns }) : () => false;
}

/** Whether somebody has to vote in another's place to vote at all. */
function needsPlace(authority: Authority, approver: string): boolean {
  const voting = votingOf(authority, approver);
  return !voting.ok && (voting.why === 'unknown_person' || voting.why === 'not_named');
}

/** Somebody who votes. */
interface Voting {
  /** Absent: no rule says who decides. */
  authority: Authority | undefined;
  approver: string;
  /** In whose place they say it is; with the entry where they name that, too. Absent: they do not say. */
  named?: { person: string; entry?: string } | undefined;
}

/** Whether a vote depends on who is away. Where it does not, nobody has to ask. */
export function asksForPlace({ authority, approver, named }: Voting): boolean {
  return named !== undefined || (authority !== undefined && needsPlace(authority, approver));
}

/**
 * The place in which somebody votes; absent: they vote as themselves, and the turn says whether they may. `no_rule`,
 * `not_theirs`: they have no vote in the place that they named; `ambiguous`: they have to choose between these people.
 */
export type ChosenPlace =
  { place?: Place } | { why: 'no_rule' | 'not_theirs' } | { why: 'ambiguous'; people: string[] };

/**
 * Chooses the place in which somebody votes: that of the person whom they name. Without a name, and where the rule does not
 * name the voter, it is the place of the only person who is away and named the voter.
 */
export function choosePlace(voting: Voting, away: AwayNow): ChosenPlace {
  const { authority, approver, named } = voting;
  if (!asksForPlace(voting)) return {};
  if (authority === undefined) return { why: 'no_rule' };
  const places = placesOf(authority, approver, away);
  const isNamed = ({ person, entry }: Place): boolean =>
    named === undefined || (isSameName(person, named.person) && entry === (named.entry ?? entry));
  const [place, ...others] = places.filter(isNamed);
  if (place !== undefined && others.length > 0)
    return { why: 'ambiguous', people: [place, ...others].map(({ person }) => person) };
  if (place !== undefined) return { place };
  return named === undefined ? {} : { why: 'not_theirs' };
}
