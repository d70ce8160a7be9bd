import { GROUP, nameKey } from './names';
import { type VoteRule, SOMEBODY, type Voter } from '../../contract/authority';

/** The names of the people who asked for a turn. Undefined or empty: it is not known who asked. */
export type Requesters = readonly string[] | undefined;

/** Why somebody may not vote. */
export type VoteRefusal =
  'unknown_person' | 'not_named' | 'requester' | 'requesters_delegate' | 'requester_unknown';

/** The seats that a person may take: the people in whose place they vote. */
type Seating = { ok: true; seats: readonly string[] } | { ok: false; why: VoteRefusal };

/** The people among whom a rule looks for voters. */
export interface Among {
  people: readonly Voter[];
  requesters: Requesters;
}

/** Returns the seats that a person may take at a moment, in milliseconds since 1970. */
type SeatingFor = (name: string, moment: number) => Seating;

/**
 * Returns a function that gives the seats of any person: their own seat, or the seats of the people whose delegate they
 * are then. A delegate of a delegate has no seat.
 */
export function seatingOf(
  rule: Pick<VoteRule, 'rosters' | 'notRequester'>,
  { people, requesters }: Among,
): SeatingFor {
  const isNamed = namedBy(rule.rosters);
  const byName = new Map(people.map((one) => [one.name, one]));
  const asked = rule.notRequester ? (requesters ?? []) : [];
  const hasAsked = nameSet(asked);
  const isUnknown = rule.notRequester && (asked.length === 0 || hasAsked(SOMEBODY));
  const delegatorsOf = delegatorsIn(people);
  const isBarred = (name: string, moment: number) =>
    delegatorsOf(name, moment).some((one) => hasAsked(one.name));
  return (name, moment) => {
    const person = byName.get(name);
    if (person === undefined) return { ok: false, why: 'unknown_person' };
    if (isUnknown) return { ok: false, why: 'requester_unknown' };
    if (hasAsked(name)) return { ok: false, why: 'requester' };
    if (isBarred(name, moment)) return { ok: false, why: 'requesters_delegate' };
    if (isNamed(person)) return { ok: true, seats: [name] };
    // Nobody can vote in the place of a person who may not vote.
    const seats = delegatorsOf(name, moment).filter((one) => isNamed(one) && !isBarred(one.name, moment));
    return seats.length === 0
      ? { ok: false, why: 'not_named' }
      : { ok: true, seats: seats.map((one) => one.name) };
  };
}

/** Returns a function that gives the people whose delegate a person is at a moment. */
function delegatorsIn(people: readonly Voter[]): (name: string, moment: number) => Voter[] {
  const byDelegate = new Map<string, { person: Voter; delegate: Voter['delegates'][number] }[]>();
  for (const person of people)
    for (const delegate of person.delegates) {
      const key = nameKey(delegate.name);
      byDelegate.set(key, [...(byDelegate.get(key) ?? []), { person, delegate }]);
    }
  return (name, moment) =>
    (byDelegate.get(nameKey(name)) ?? []).flatMap(({ person, delegate }) =>
      isDelegateAt(delegate, moment) ? [person] : [],
    );
}

function namedBy(rosters: VoteRule['rosters']): (person: Voter) => boolean {
  const sets = rosters.map((roster) => new Set(roster));
  return ({ name, groups }) =>
    sets.every((set) => set.has(name) || groups.some((group) => set.has(`${GROUP}${group}`)));
}

/** Whether a delegate may vote at a moment, in milliseconds since 1970. A time that cannot be read never comes. */
export function isDelegateAt({ from, until }: Voter['delegates'][number], moment: number): boolean {
  return (
    (from === undefined || Date.parse(from) <= moment) && (until === undefined || moment < Date.parse(until))
  );
}

/** Returns a check whether a name means one of these people. */
function nameSet(names: readonly string[]): (name: string) => boolean {
  const keys = new Set(names.map(nameKey));
  return (name) => keys.has(nameKey(name));
}
