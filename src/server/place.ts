import { type ChosenPlace, choosePlace } from '../contract/authority/places';
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
 * In whose place somebody votes who is signed in, by who is away as it is known here and by the names of the file.
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
  const chosen = choosePlace({ authority, approver, named }, { entries, now: Date.now() });
  if ('why' in chosen) throw noVote(chosen, named);
  if (chosen.place === undefined) return {};
  const { person, entry } = chosen.place;
  return { approver, inPlaceOf: { person, entry } };
}

function noVote(
  chosen: Extract<ChosenPlace, { why: string }>,
  named: InPlaceOf | undefined,
): CountersignError {
  if (chosen.why === 'ambiguous')
    return new CountersignError('usage', `you may vote in place of ${chosen.people.join(' and ')}`, {
      hint: 'Choose at a terminal: countersign approve --in-place-of <who>',
    });
  return new CountersignError('not_allowed', `you have no vote in place of ${named?.person ?? 'anybody'}`, {
    hint: 'countersign away shows who is away',
  });
}
