import type { VotesNeeded } from '../../contract/decision';
import { MOST_NAMED, someNames } from './voters';
import { type Among, seatingOf } from './who-may-vote';
import type { VoteRule, DatedVote, Voter, Authority } from '../../contract/authority';
import { ruleInForce } from './authority-in-force';

/** Whether votes are enough, and who has to vote yet. */
export interface VoteCount {
  state: 'open' | 'approved' | 'denied';
  /** The approvals that count: the voter of each, and the seat that it takes. */
  counted: readonly Seat[];
  /** How many more people have to approve. */
  missing: number;
  /** The groups from which nobody has approved yet. */
  missingGroups: readonly string[];
  /** The names of the people who may vote now and have not voted. */
  mayVote: readonly string[];
  /** Too few people may vote now, so the request cannot be approved. */
  isStuck: boolean;
}

/** A vote and the person in whose place it is cast. */
interface Seat {
  voter: string;
  seat: string;
}

/**
 * Counts votes under a rule: whether they are enough, and who is still needed. A vote counts if its voter might vote
 * when they cast it. Each person has one vote, and each seat is taken once. `now`: milliseconds since 1970.
 */
export function countVotes(
  rule: VoteRule,
  votes: readonly DatedVote[],
  among: Among & { now: number },
): VoteCount {
  const seatingFor = seatingOf(rule, among);
  const last = new Map(votes.map((vote) => [vote.voter, vote]));
  const seats = new Map(
    among.people.flatMap(({ name }) => {
      const vote = last.get(name);
      const seating = seatingFor(name, vote === undefined ? among.now : Date.parse(vote.at));
      return seating.ok ? [[name, seating.seats] as const] : [];
    }),
  );
  const allowed = [...last.values()].filter(({ voter }) => (seats.get(voter) ?? []).length > 0);
  const approvers = allowed.flatMap(({ voter, decision }) => (decision === 'approved' ? voter : []));
  const mayVote = [...seats.keys()].filter((name) => !last.has(name));
  const { counted, missingGroups } = countOf(rule, approvers, { seats, people: among.people });
  const best = countOf(rule, [...approvers, ...mayVote], { seats, people: among.people });
  const missing = Math.max(0, rule.need - counted.length, missingGroups.length);
  const deniers = allowed.flatMap(({ voter, decision }) =>
    decision === 'denied' ? [[voter, seats.get(voter) ?? []] as const] : [],
  );
  const isDenied = matched(new Map(deniers)).size >= rule.denyNeeds;
  return {
    state: isDenied ? 'denied' : missing === 0 ? 'approved' : 'open',
    counted,
    missing,
    missingGroups,
    mayVote,
    isStuck: best.counted.length < rule.need || best.missingGroups.length > 0,
  };
}

/** The seats that each person may take. */
interface Seats {
  seats: ReadonlyMap<string, readonly string[]>;
  people: readonly Voter[];
}

function countOf(
  rule: VoteRule,
  approvers: readonly string[],
  { seats, people }: Seats,
): Pick<VoteCount, 'counted' | 'missingGroups'> {
  const taken = matched(new Map(approvers.map((name) => [name, seats.get(name) ?? []])));
  const counted = [...taken].map(([seat, voter]) => ({ voter, seat }));
  const wanted = new Set(rule.groups);
  const heard = matched(
    new Map(
      people.flatMap(({ name, groups }) =>
        wanted.size > 0 && taken.has(name)
          ? [[name, groups.filter((group) => wanted.has(group))] as const]
          : [],
      ),
    ),
  );
  return { counted, missingGroups: rule.groups.filter((group) => !heard.has(group)) };
}

/**
 * Assigns one option each to as many names as possible. No two names get the same option. Returns the name that each
 * option was assigned to.
 */
function matched(optionsOf: ReadonlyMap<string, readonly string[]>) {
  const taken = new Map<string, string>();
  const place = (name: string, tried: Set<string>) => {
    for (const option of optionsOf.get(name) ?? []) {
      if (tried.has(option)) continue;
      tried.add(option);
      const holder = taken.get(option);
      if (holder !== undefined && !place(holder, tried)) continue;
      taken.set(option, name);
      return true;
    }
    return false;
  };
  for (const name of optionsOf.keys()) place(name, new Set());
  return taken;
}

/** Counts votes under an authority: whether they are enough, and who is still needed. */
export function countVotesUnder(authority: Authority, votes: readonly DatedVote[], now: number): VoteCount {
  const { people, requesters } = authority;
  const rule = ruleInForce(authority);
  if (people !== undefined) return countVotes(rule, votes, { people, requesters, now });
  // Each person of the file decides alone, so one vote is enough, whoever the voter is.
  const voters = [...new Set(votes.map(({ voter }) => voter))];
  const among = voters.map((name) => ({ name, groups: [], delegates: [] }));
  return { ...countVotes(rule, votes, { people: among, requesters, now }), isStuck: false };
}

/** The votes that are still needed before a call is decided. */
export function stillNeeded({ missing, missingGroups, mayVote }: VoteCount): VotesNeeded {
  const groups = missingGroups.length === 0 ? undefined : [...missingGroups];
  return { approvals: missing, who: mayVote.slice(0, MOST_NAMED), groups };
}

/** The votes that are still needed, in words. */
export function stillNeededText({ rule }: Authority, { missing, missingGroups, mayVote }: VoteCount): string {
  const groups = missingGroups.length === 0 ? '' : ` (of ${missingGroups.join(' and ')})`;
  return `the rule '${rule.name}' needs ${missing} more${groups} of: ${someNames(mayVote)}`;
}

/** Whether two choices of hunks are the same. Absent: the whole call. */
export function areSameHunks(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): boolean {
  const keyOf = (hunks: readonly string[] | undefined) =>
    JSON.stringify(hunks === undefined ? null : [...new Set(hunks)].sort());
  return keyOf(one) === keyOf(other);
}
