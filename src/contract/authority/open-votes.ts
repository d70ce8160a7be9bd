import type { VotesNeeded } from '../decision';
import { defined } from '../defined';
import { utf8Bytes } from '../text/bytes';
import { type Authority, MOST_NAMED, ruleInForce, votersOf } from './authority';
import type { CastVote, Voter } from './votes';
import { deputiesOf, type Deputy, type SeatingFor, seatingOf } from './who-may-vote';
import { countVotesUnder, stillNeeded } from './votes-needed';

/**
 * The votes on a call and the votes that it still needs, in short. Lists show this, and the memo of a turn holds it.
 */
export interface Voting {
  votes: CastVote[];
  needs: VotesNeeded;
  /** Nobody decided in time, so more people may. */
  escalated?: true;
  /** The people who may vote only since the request was escalated. Ten at most. */
  escalatedTo?: string[];
  /** The people whose votes may count. Absent: the memo has no room for this. */
  among?: VotersSought;
}

/** The rule's limits on who may vote. Who is in a group is read from today's approvers file. */
export interface VotersSought {
  /** See `VoteRule`. */
  rosters: string[][];
  /**
   * The people who may not vote, because they asked for the turn. Empty: it is not known who asked. Absent: the rule
   * also lets people vote who asked for the turn.
   */
  notThese?: string[];
}

/** The most bytes of `among` as JSON, because a memo has little room. */
const MOST_BYTES = 500;

/** The votes under an authority, in short. */
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

/** The people who may vote only because nobody decided in time. */
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

/** A person whose waiting requests are looked up, and the people of today's approvers file. */
export interface Whom {
  /** The person's name in the approvers file, or the name that they gave if the file does not have it. */
  person: string;
  /** Absent: no approvers file was read here. */
  people?: readonly Voter[];
  /** The people who vote in the place of somebody who is away now. Absent: it is not known who is away. */
  standIns?: readonly Deputy[];
}

/**
 * Whether a request waits for this person: they may vote on it, for themselves or in another's place, and have not
 * voted yet. A request that no rule is about waits for anybody, and a request that does not say who may vote may wait
 * for anybody.
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

/** Whether this person may decide a request in the place of `person`, and neither of them has voted on it. */
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

/** Whether this person stands in for somebody who asked for the turn, under a rule that lets those people not vote. */
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
