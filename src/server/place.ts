import { needsPlace, placesOf } from '../contract/authority/places';
import { type InPlaceOf, isSameName } from '../contract/authority/votes';
import { CountersignError } from '../contract/errors';
import { authorityOn } from '../history/labels';
import type { CallView } from '../history/view';
import type { AppDeps } from './deps';

/** What somebody decides, and in whose place they say it is. */
interface Asked {
  /** Read only where it matters. */
  callOf(): Promise<CallView | undefined>;
  /** As they are signed in. */
  approver: string;
  /** What they sent; it counts only where it is found here, too. */
  named?: InPlaceOf | undefined;
}

/** Whose vote it is, and in whose place. Nothing: as themselves, and the turn says whether they may. */
export type Placed = { approver: string; inPlaceOf: InPlaceOf } | Record<string, never>;

/**
 * In whose place somebody votes who is signed in, by who is away as it is known here: where the rule does not name them, in
 * that of the one person who named them.
 *
 * @throws CountersignError `not_allowed` for a place that they do not have, `usage` where they have to choose.
 */
export async function placeOf(
  { away, voters }: Pick<AppDeps, 'away' | 'voters'>,
  { callOf, approver: user, named }: Asked,
): Promise<Placed> {
  const [all, file] = [await away(), await voters?.()];
  const nameOf = (name: string): string => file?.personOf(name) ?? name;
  const approver = nameOf(user);
  const entries = all
    .map((entry) => ({ ...entry, from: nameOf(entry.from), to: nameOf(entry.to) }))
    .filter(({ to }) => isSameName(to, approver));
  if (named === undefined && entries.length === 0) return {};
  const call = await callOf();
  const authority = call && authorityOn(call);
  if (named === undefined && (authority === undefined || !needsPlace(authority, approver))) return {};
  const places = authority === undefined ? [] : placesOf(authority, approver, { entries, now: Date.now() });
  const chosen = named === undefined ? places : places.filter((one) => isSame(one, named));
  const [place, other] = chosen;
  if (other !== undefined) throw ambiguous(places);
  if (place !== undefined) return { approver, inPlaceOf: { person: place.person, entry: place.entry } };
  if (named === undefined) return {};
  throw new CountersignError('not_allowed', `you have no vote in place of ${named.person}`, {
    hint: 'countersign away shows who is away',
  });
}

function isSame(one: InPlaceOf, other: InPlaceOf): boolean {
  return one.entry === other.entry && one.person === other.person;
}

function ambiguous(places: readonly InPlaceOf[]): CountersignError {
  const who = places.map(({ person }) => person).join(' and ');
  return new CountersignError('usage', `you may vote in place of ${who}`, {
    hint: 'Choose at a terminal: countersign approve --in-place-of <who>',
  });
}
