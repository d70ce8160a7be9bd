import type { VotesNeeded } from '../decision';
import { utf8Bytes } from '../text/bytes';
import { type Authority, MOST_NAMED, ruleInForce, votersOf } from './authority';
import type { CastVote, DatedVote, Voter } from './votes';
import { seatingOf } from './who-may-vote';
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
interface VotersSought {
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

/** The votes under an authority, in short. `now`: milliseconds since 1970. */
export function votingUnder(authority: Authority, votes: readonly DatedVote[], now: number): Voting {
  const { escalated } = authority;
  const cast = votes.map(({ voter, decision, signedBy }) => ({ voter, decision, signedBy }));
  const since = escalated === true ? newVotersOf(authority, now).slice(0, MOST_NAMED) : [];
  return {
    votes: cast,
    needs: stillNeeded(countVotesUnder(authority, votes, now)),
    escalated,
    escalatedTo: since.length === 0 ? undefined : since,
    among: soughtBy(authority),
  };
}

/** The people who may vote at a moment only because nobody decided in time. */
export function newVotersOf(authority: Authority, moment: number): string[] {
  const { escalated: _, ...before } = authority;
  const known = new Set(votersOf(before, moment));
  const all = votersOf({ ...before, escalated: true }, moment) ?? [];
  return all.filter((name) => !known.has(name));
}

function soughtBy(authority: Authority): VotersSought | undefined {
  const { rosters, notRequester } = ruleInForce(authority);
  const sought: VotersSought = {
    rosters: rosters.map((roster) => [...roster]),
    notThese: notRequester ? [...authority.requesters] : undefined,
  };
  return utf8Bytes(JSON.stringify(sought)) > MOST_BYTES ? undefined : sought;
}

/** A person whose waiting requests are looked up, and the people of today's approvers file. */
export interface Whom {
  /** The person's name in the approvers file, or the name that they gave if the file does not have it. */
  person: string;
  /** Absent: no approvers file was read here. */
  people?: readonly Voter[];
}

/**
 * Whether a request waits for this person: they may vote on it now, and have not voted yet. A request that no rule is
 * about waits for anybody, and a request that does not say who may vote may wait for anybody. `now`: milliseconds since
 * 1970.
 */
export function waitsFor({ person, people }: Whom, { voting }: { voting?: Voting }, now: number): boolean {
  if (voting === undefined) return true;
  const { votes, among, needs } = voting;
  if (votes.some(({ voter }) => voter === person)) return false;
  if (people === undefined) return needs.who.length >= MOST_NAMED || needs.who.includes(person);
  if (among === undefined) return true;
  const { rosters, notThese: requesters } = among;
  const seatingFor = seatingOf({ rosters, notRequester: requesters !== undefined }, { people, requesters });
  return seatingFor(person, now).ok;
}
