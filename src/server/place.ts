import { type ChosenPlace, choosePlace } from '../contract/authority/places';
import { voterIn } from '../contract/authority/authority';
import { type CastVote, type InPlaceOf, isSameName } from '../contract/authority/votes';
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

/** Somebody who is signed in. */
export interface SignedInVoter {
  /** As they are signed in. */
  user: string;
  /** By the name in the file where they have one. */
  person: string;
}

/** Whom a signed-in name means: the name in the file where they have one. */
export async function personFor({ voters }: Pick<AppDeps, 'voters'>, user: string): Promise<string> {
  return (await voters?.())?.personOf(user) ?? user;
}

/** The vote that somebody has on a call. One in another's place is kept under the voter's name in the file. */
export function ownVoteOn(call: CallView, { user, person }: SignedInVoter): CastVote | undefined {
  const asThemselves = voterIn(authorityOn(call), user);
  return call.votes.find(
    ({ voter, inPlaceOf }) => voter === (inPlaceOf === undefined ? asThemselves : person),
  );
}

/** Whose vote is taken back: its voter's, whatever place it was cast in. Nothing: as they are signed in. */
export async function placedVoter(
  parts: Pick<AppDeps, 'voters'>,
  { callOf, approver: user }: Omit<Asked, 'named'>,
): Promise<Pick<Placed, 'approver'>> {
  const [call, person] = [await callOf(), await personFor(parts, user)];
  const own = call && ownVoteOn(call, { user, person });
  return own?.inPlaceOf === undefined ? {} : { approver: own.voter };
}

/** Whose vote it is, and in whose place. Nothing: as themselves, and the turn says whether they may. */
export interface Placed {
  approver?: string;
  inPlaceOf?: InPlaceOf;
}

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
  const entries = all.map((entry) => ({ ...entry, from: nameOf(entry.from), to: nameOf(entry.to) }));
  if (named === undefined && !entries.some(({ to }) => isSameName(to, approver))) return {};
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
