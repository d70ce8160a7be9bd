import { defined } from '../defined';
import type { VoteRule } from './rule';
import { GROUP, type InPlaceOf, isSameName, nameSet, type Voter } from './votes';

/** The names of the people who asked for a turn. Undefined or empty: it is not known who asked. */
export type Requesters = readonly string[] | undefined;

/** Why somebody may not vote. */
export type VoteRefusal =
  | 'unknown_person'
  | 'not_named'
  | 'requester'
  | 'requesters_delegate'
  | 'requester_unknown'
  | 'place_not_named'
  | 'own_place'
  | 'no_places';

/** The seats that a person may take: the people in whose place they vote. */
export type Seating = { ok: true; seats: readonly string[] } | { ok: false; why: VoteRefusal };

/** The people among whom a rule looks for voters. */
export interface Among {
  people: readonly Voter[];
  requesters: Requesters;
  /** The people who vote in the place of somebody who is away now. Absent: only the votes themselves say so. */
  standIns?: readonly Deputy[];
}

/** A person, and the person in whose place they vote. */
export interface Deputy {
  voter: string;
  person: string;
}

/**
 * Returns a check whether a person stands in for somebody who asked for the turn, as a delegate in the file or because
 * that person is away. Where those who asked may not vote, these people may not either.
 */
export function deputiesOf(
  requesters: Requesters = [],
  { people = [], standIns = [] }: Partial<Pick<Among, 'people' | 'standIns'>>,
): (name: string) => boolean {
  const hasAsked = nameSet(requesters);
  const listed = people.flatMap(({ name, delegates }) => (hasAsked(name) ? delegates : []));
  const placed = standIns.flatMap(({ voter, person }) => (hasAsked(person) ? [voter] : []));
  return nameSet([...listed, ...placed]);
}

/**
 * Returns the seats that a person may take. A vote in another person's place can only take that person's seat, even if
 * the rule does not name the voter.
 */
export type SeatingFor = (name: string, place?: InPlaceOf) => Seating;

/**
 * Returns a function that gives the seats of any person: their own seat, or the seats of the people whose delegate they
 * are. A delegate of a delegate has no seat.
 */
export function seatingOf(
  rule: Pick<VoteRule, 'rosters' | 'notRequester'>,
  { people, requesters, standIns }: Among,
): SeatingFor {
  const isNamed = namedBy(rule.rosters);
  const byName = new Map(people.map((one) => [one.name, one]));
  const asked = rule.notRequester ? (requesters ?? []) : [];
  const hasAsked = nameSet(asked);
  const isUnknown = rule.notRequester && asked.length === 0;
  const isDeputy = deputiesOf(asked, defined({ people, standIns }));
  const delegators = new Map<string, string[]>();
  for (const one of people)
    for (const name of isNamed(one) && !hasAsked(one.name) && !isDeputy(one.name) ? one.delegates : [])
      delegators.set(name, [...(delegators.get(name) ?? []), one.name]);
  const seatOf = (person: string, voter: string): Seating => {
    const seat = byName.get(person);
    if (isSameName(person, voter)) return { ok: false, why: 'own_place' };
    // Nobody can vote in the place of a person who may not vote.
    if (hasAsked(person) || isDeputy(person)) return { ok: false, why: 'requesters_delegate' };
    return seat !== undefined && isNamed(seat)
      ? { ok: true, seats: [person] }
      : { ok: false, why: 'place_not_named' };
  };
  return (name, place) => {
    const person = byName.get(name);
    if (person === undefined && place === undefined) return { ok: false, why: 'unknown_person' };
    if (isUnknown) return { ok: false, why: 'requester_unknown' };
    if (hasAsked(name)) return { ok: false, why: 'requester' };
    if (isDeputy(name)) return { ok: false, why: 'requesters_delegate' };
    if (place !== undefined) return seatOf(place.person, name);
    if (person !== undefined && isNamed(person)) return { ok: true, seats: [name] };
    const seats = delegators.get(name) ?? [];
    return seats.length === 0 ? { ok: false, why: 'not_named' } : { ok: true, seats };
  };
}

function namedBy(rosters: VoteRule['rosters']): (person: Voter) => boolean {
  const sets = rosters.map((roster) => new Set(roster));
  return ({ name, groups }) =>
    sets.every((set) => set.has(name) || groups.some((group) => set.has(`${GROUP}${group}`)));
}
