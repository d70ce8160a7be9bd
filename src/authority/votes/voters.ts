import { isSameName, nameKey } from './names';
import { seatingOf, type VoteRefusal } from './who-may-vote';
import {
  type Assurance,
  type CastVote,
  SOMEBODY,
  type Voter,
  type Authority,
  type Vote,
} from '../../contract/authority';
import { ruleInForce } from './authority-in-force';

/**
 * The person whom an approver's name means. The name may be a name or a mail address of the file, in upper or lower
 * case.
 */
export function personIn(
  people: readonly Pick<Voter, 'name' | 'mail'>[],
  approver: string,
): string | undefined {
  return people.find(({ name, mail = name }) => [name, mail].some((one) => isSameName(one, approver)))?.name;
}

/** Whether somebody may vote under an authority, and as whom. */
type Eligibility = { ok: true; voter: string } | { ok: false; why: VoteRefusal };

/** The person whom an approver's name means under an authority. This person need not be allowed to vote. */
export function voterIn({ people }: Partial<Authority> = {}, approver: string): string {
  return people === undefined ? nameKey(approver) : (personIn(people, approver) ?? approver);
}

/**
 * Whether a message of `approver` may have made a decision. If rules say who decides, the message is the last vote.
 * Then `decision.approver` may name several people.
 */
export function mayBeBy(
  { approver: by, votes }: { approver: string; votes?: readonly Pick<Vote, 'voter'>[] },
  authority: Authority | undefined,
  approver = SOMEBODY,
): boolean {
  const last = votes?.at(-1);
  return last === undefined ? isSameName(approver, by) : isSameName(voterIn(authority, approver), last.voter);
}

/** Looks up an approver among the people who may vote at a moment, in milliseconds since 1970. */
export function votingOf(authority: Authority, approver: string, moment: number): Eligibility {
  const voter = voterIn(authority, approver);
  // Each person of the file decides alone, whoever they are.
  const { people = [{ name: voter, groups: [], delegates: [] }], requesters } = authority;
  const seating = seatingOf(ruleInForce(authority), { people, requesters })(voter, moment);
  return seating.ok ? { ok: true, voter } : seating;
}

/** The names of the people who may vote under an authority at a moment. Undefined: each person of the file may. */
export function votersOf(authority: Authority, moment: number): string[] | undefined {
  const { people, requesters } = authority;
  if (people === undefined) return undefined;
  const seatingFor = seatingOf(ruleInForce(authority), { people, requesters });
  return people.flatMap(({ name }) => (seatingFor(name, moment).ok ? [name] : []));
}

/** What a vote says. A resolution is a vote only if it runs the call again. */
export type VoteDecision = 'approved' | 'denied' | 'run-again';

/**
 * The assurance that a rule needs for a vote. Undefined: a claimed name is enough, or no rule says who decides. A
 * denial never needs more, because it lets nothing run.
 */
export function assuranceWanted(
  authority: Authority | undefined,
  decision: VoteDecision,
): Exclude<Assurance, 'claimed'> | undefined {
  const wanted = authority?.rule.assurance ?? 'claimed';
  return wanted === 'claimed' || decision === 'denied' ? undefined : wanted;
}

/** The words for each reason why somebody may not vote. They follow the name. */
export const WHY_NOT: Readonly<Record<VoteRefusal, string>> = {
  // A request lists only the people whom its rule concerns. A person who is missing there may still be in the file.
  unknown_person: 'is not named by the rule',
  not_named: 'is not named by the rule',
  requester: 'asked for the turn',
  requesters_delegate: 'is a delegate of who asked for the turn',
  requester_unknown: 'may not: nobody knows who asked for the turn',
};

/**
 * Why an approver may not decide now, with the names of the people who may. Undefined: the approver may decide. `now`:
 * milliseconds since 1970.
 */
export function whyMayNot(
  authority: Authority,
  { approver, now }: { approver: string; now: number },
  votes: readonly CastVote[] = [],
): string | undefined {
  const voting = votingOf(authority, approver, now);
  if (voting.ok) return undefined;
  const voted = new Set(votes.map(({ voter }) => voter));
  const left = (votersOf(authority, now) ?? []).filter((name) => !voted.has(name));
  const others = left.length === 0 ? 'nobody else may' : `these may: ${someNames(left)}`;
  return `${approver} ${WHY_NOT[voting.why]}; ${others}`;
}

/** The most names in a list of people. */
export const MOST_NAMED = 10;

/** The first names of a list, as text. */
export function someNames(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return names.slice(0, MOST_NAMED).join(', ') + more;
}
