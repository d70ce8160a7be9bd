import { type ChosenPlace, choosePlace } from '../contract/authority/in-place-of';
import { voterIn } from '../contract/authority/authority';
import { type CastVote, type InPlaceOf, isSameName } from '../contract/authority/votes';
import { CountersignError } from '../contract/errors';
import { authorityOn } from '../history/labels';
import type { CallView } from '../history/view';
import type { AppDeps } from './deps';

/** The call that a person decides, and in whose place they say that they decide. */
interface Asked {
  /** Reads the call. Called only if the place depends on it. */
  callOf(): Promise<CallView | undefined>;
  /** The name under which the person is signed in. */
  approver: string;
  /** The place that the person sent. It counts only if the person has this place by the entries that are known here. */
  named?: InPlaceOf | undefined;
}

/** A signed-in person. */
export interface SignedInVoter {
  /** The name under which the person is signed in. */
  user: string;
  /** The person's name in the approvers file, or `user` if the file does not know them. */
  person: string;
}

/** The person's name in the approvers file, or the signed-in name if the file does not know it. */
export async function personFor({ voters }: Pick<AppDeps, 'voters'>, user: string): Promise<string> {
  return (await voters?.())?.personOf(user) ?? user;
}

/** The vote of a person on a call. A vote in another person's place is kept under the voter's name in the file. */
export function ownVoteOn(call: CallView, { user, person }: SignedInVoter): CastVote | undefined {
  const asThemselves = voterIn(authorityOn(call), user);
  return call.votes.find(
    ({ voter, inPlaceOf }) => voter === (inPlaceOf === undefined ? asThemselves : person),
  );
}

/**
 * The voter whose vote is withdrawn. It may be a vote in another person's place. Empty: a vote in the person's own
 * name.
 */
export async function placedVoter(
  parts: Pick<AppDeps, 'voters'>,
  { callOf, approver: user }: Omit<Asked, 'named'>,
): Promise<Pick<Placed, 'approver'>> {
  const [call, person] = [await callOf(), await personFor(parts, user)];
  const own = call && ownVoteOn(call, { user, person });
  return own?.inPlaceOf === undefined ? {} : { approver: own.voter };
}

/**
 * The voter, and the person in whose place they vote. Empty: the person votes in their own name, and the turn checks
 * whether they may.
 */
export interface Placed {
  approver?: string;
  inPlaceOf?: InPlaceOf;
}

/**
 * Finds in whose place a signed-in person votes, by the out-of-office entries that are known here and the names in the
 * file.
 *
 * @throws CountersignError `not_allowed` for a place that the person does not have, `usage` if they have to choose one.
 */
export async function votingPlaceOf(
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
