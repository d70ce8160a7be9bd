import { MOST_NAMED } from './voters';
import { seatingOf } from './who-may-vote';
import type { Voter, Voting } from '../../contract/authority';

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
