import { utf8Bytes } from '../../contract/text/bytes';
import { MOST_NAMED, votersOf } from './voters';
import { countVotesUnder, stillNeeded } from './count-votes';
import type { DatedVote, Authority, Voting } from '../../contract/authority';
import { ruleInForce } from './authority-in-force';

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

function soughtBy(authority: Authority): Voting['among'] {
  const { rosters, notRequester } = ruleInForce(authority);
  const sought = {
    rosters: rosters.map((roster) => [...roster]),
    notThese: notRequester ? [...authority.requesters] : undefined,
  };
  return utf8Bytes(JSON.stringify(sought)) > MOST_BYTES ? undefined : sought;
}
