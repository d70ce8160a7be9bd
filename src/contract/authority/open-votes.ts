import type { VotesNeeded } from '../decision';
import { defined } from '../defined';
import { utf8Bytes } from '../text/bytes';
import { type Authority, ruleInForce, votersOf } from './authority';
import { type CastVote, deputiesOf, type Deputy, type SeatingFor, seatingOf, type Voter } from './votes';
import { countVotesUnder, MOST_NAMED, stillNeeded } from './votes-needed';

/** How the votes on a call stand, in short: lists show it, and the memo of a turn holds it. */
export interface Voting {
  votes: CastVote[];
  needs: VotesNeeded;
  /** Nobody decided in time, so more people may. */
  escalated?: true;
  /** Who may vote since then, and could not before; ten at most. */
  escalatedTo?: string[];
  /** Absent: it has no room here, or an older version wrote it. */
  among?: VotersSought;
}

/** Among whom voters are looked for. The file of the day says who is in a group. */
export interface VotersSought {
  /** As in `VoteRule`. */
  rosters: string[][];
  /** Who may not vote, because they asked for the turn; empty: nobody knows who did. Absent: the rule lets them. */
  notThese?: string[];
}

/** A memo has little room. */
const MOST_BYTES = 500;

/** How votes stand under an authority, in short. */
export function votingUnder(authority: Authority, votes: readonly CastVote[]): Voting {
  const { escalated } = authority;
  const cast = votes.map(({ voter, decision, inPlaceOf, signedBy }) => ({
    voter,
    decision,
    ...defined({ inPlaceOf, signedBy }),
  }));
  const since = escalated === true ? newVotersOf(authority).slice(0, MOST_NAMED) : [];
  return {
    votes: cast,
    needs: stillNeeded(countVotesUnder(authority, votes)),
    ...defined({
      escalated,
      escalatedTo: since.length === 0 ? undefined : since,
      among: soughtBy(authority),
    }),
  };
}

/** Who may vote only because nobody decided in time. */
export function newVotersOf(authority: Authority): string[] {
  const { escalated: _, ...before } = authority;
  const [then, now] = [votersOf(before) ?? [], votersOf({ ...before, escalated: true }) ?? []];
  const known = new Set(then);
  return now.filter((name) => !known.has(name));
}

function soughtBy(authority: Authority): VotersSought | undefined {
  const { rosters, notRequester } = ruleInForce(authority);
  const sought: VotersSought = {
    rosters: rosters.map((roster) => [...roster]),
    ...(notRequester ? { notThese: [...authority.requesters] } : {}),
  };
  return utf8Bytes(JSON.stringify(sought)) > MOST_BYTES ? undefined : sought;
}

/** Somebody for whom it is looked up what waits for them, and the people of the file of the day. */
export interface Whom {
  /** By the name in the file; of a stranger the name that they gave. */
  person: string;
  /** Absent: there is no file here. */
  people?: readonly Voter[];
  /** Who stands in for somebody now. Absent: nobody can tell. */
  standIns?: readonly Deputy[];
}

/**
 * Whether somebody may decide what waits, as themselves or in another's place, and has not voted on it. What no rule is about
 * anybody may decide, and what does not say among whom voters are looked for may be anybody's.
 */
export function waitsFor(whom: Whom, { voting }: { voting?: Voting }): boolean {
  if (voting === undefined) return true;
  const { votes, among, needs } = voting;
  const { person, people, standIns = [] } = whom;
  if (votes.some(({ voter }) => voter === person) || isBarred(whom, among)) return false;
  const places = standIns.flatMap((one) => (one.voter === person ? [one.person] : []));
  if (places.some((place) => isPlaceOf(whom, place, voting))) return true;
  if (people === undefined) return needs.who.length >= MOST_NAMED || needs.who.includes(person);
  return among === undefined || seatingAmong(among, people, standIns)(person).ok;
}

/** Whether somebody may decide what waits in the place of another who has not voted on it. */
export function isPlaceOf(whom: Whom, person: string, voting: Voting): boolean {
  const { votes, among, needs } = voting;
  const { person: voter, people, standIns } = whom;
  const isTaken = votes.some((vote) => [vote.voter, vote.inPlaceOf?.person].includes(person));
  if (isTaken || votes.some((vote) => vote.voter === voter)) return false;
  if ([voter, person].some((one) => isBarred({ ...whom, person: one }, among))) return false;
  if (people === undefined || among === undefined)
    return needs.who.length >= MOST_NAMED || needs.who.includes(person);
  return seatingAmong(among, people, standIns)(voter, { person, entry: '' }).ok;
}

/** Whether somebody stands in for one of those who asked, where these do not vote. */
function isBarred({ person, standIns }: Whom, among: VotersSought | undefined): boolean {
  return deputiesOf(among?.notThese, defined({ standIns }))(person);
}

function seatingAmong(
  { rosters, notThese: requesters }: VotersSought,
  people: readonly Voter[],
  standIns: readonly Deputy[] = [],
): SeatingFor {
  return seatingOf({ rosters, notRequester: requesters !== undefined }, { people, requesters, standIns });
}
