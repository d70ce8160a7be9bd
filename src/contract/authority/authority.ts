import type { VoteSignature } from '../decision';
import { WORDS_COUNT } from '../question';
import { guard } from '../schema/message';
import { flag, integer, only, list, object, oneOf, type Shape, text } from '../schema/shape';
import { MS } from '../tool';
import { type CastVote, type DatedVote, isSameName, nameKey, SOMEBODY, type Voter } from './votes';
import { seatingOf, type VoteRefusal } from './who-may-vote';
import {
  approvalsNeeded,
  type Assurance,
  ASSURANCES,
  RULE_ACTIONS,
  type RuleSnapshot,
  stricterRule,
} from './rule';

/**
 * The people who decide a call, and the rule for it, as the approvers file said when the call was asked about. Both are
 * frozen with the request. A changed file can only make them stricter.
 */
export interface Authority {
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  /** SHA-256 (hex) of the rule. */
  ruleDigest: string;
  rule: RuleSnapshot;
  /**
   * The people whom the rule concerns. Absent: each person of the file may decide alone under the rule, and the file
   * has too many people to list.
   */
  people?: readonly Voter[];
  /**
   * Nobody decided in time, so the people whom the rule names for this case may decide, too. The workflow says so. The
   * worker believes it only if the server's history proves the time.
   */
  escalated?: true;
  /**
   * The people whose messages the turn had taken up when it asked. If the approvers file names a person, this is the
   * name in the file. Empty: it is not known who asked.
   */
  requesters: readonly string[];
}

/** A vote as it is kept, with the digest of the request that it is about. */
export interface Vote extends DatedVote {
  decisionId: string;
  /** The digest of the request as the voter saw it. */
  seenDigest?: string;
  reason?: string;
  /** The signature on the vote. Only the worker can say whether it counts. */
  signature?: VoteSignature;
  /** The vote lets a call in doubt start once more. The signature covers this field. */
  runsAgain?: true;
}

const TEXT = text({ maxLength: 1000 });
const NAMES = list(TEXT);
const COUNT = integer({ minimum: 1, maximum: 1000 });

const RULE: Shape<RuleSnapshot> = object(
  {
    name: TEXT,
    then: oneOf(RULE_ACTIONS),
    rosters: list(NAMES),
    need: COUNT,
    groups: NAMES,
    notRequester: flag(),
    denyNeeds: COUNT,
    assurance: oneOf(ASSURANCES),
  },
  { expiresMs: MS, escalate: object({ afterMs: MS, to: NAMES }) },
);
const DELEGATE = object({ name: TEXT }, { from: TEXT, until: TEXT });
const PERSON: Shape<Voter> = object({ name: TEXT, groups: NAMES, delegates: list(DELEGATE) }, { mail: TEXT });

/** An authority as it comes from an activity, which an operator can complete with anything. */
export const AUTHORITY: Shape<Authority> = object(
  { fileDigest: TEXT, ruleDigest: TEXT, rule: RULE, requesters: NAMES },
  { people: list(PERSON, { maxItems: 1000 }), escalated: only(true) },
);

/** The further fields with which a worker asks a person to look again. */
export const ASKED_AGAIN = { struck: NAMES, authority: AUTHORITY, mayHaveRun: only(true) };

const isAuthority = /* @__PURE__ */ guard(AUTHORITY);

/** Reads an authority that anybody may have written. Undefined: it cannot be read. */
export function readAuthority(value: unknown): Authority | undefined {
  return isAuthority(value) ? value : undefined;
}

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

/**
 * An authority that is as strict as both. It has the people of the later one, and the requesters of both. It is
 * escalated only if both are.
 */
export function stricterAuthority(before: Authority, later: Authority): Authority {
  const rule: RuleSnapshot = {
    ...stricterRule(before.rule, later.rule),
    name: later.rule.name,
    then: later.rule.then,
  };
  const people = later.people ?? before.people;
  return {
    fileDigest: later.fileDigest,
    ruleDigest: later.ruleDigest,
    rule,
    requesters: [...new Set([...before.requesters, ...later.requesters])],
    people,
    escalated: before.escalated === true && later.escalated === true ? true : undefined,
  };
}

/** The authority of a call that was prepared again. The rule of its request still holds for it. */
export function joinedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority ?? before.authority;
  return stricterAuthority(before.authority, now.authority);
}

/**
 * The authority of a call that an admin asked about anew. Only today's rule holds. The people who asked for the turn
 * before still count as requesters.
 */
export function renewedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority;
  const requesters = [...new Set([...before.authority.requesters, ...now.authority.requesters])];
  return { ...now.authority, requesters };
}

/** The authority once its request was escalated. The people whom its rule names for this case may vote, too. */
export function escalatedAuthority(authority: Authority): Authority {
  return { ...authority, escalated: true };
}

/** The authority that decides a call now. Undefined if no rule says who decides. */
export function authorityNow(
  authority: Authority | undefined,
  isEscalated: boolean | undefined,
): Authority | undefined {
  return isEscalated === true ? authority && escalatedAuthority(authority) : authority;
}

/** The rule as it holds now. The people to whom the request was escalated are in every roster. */
export function ruleInForce({ rule, escalated }: Authority): RuleSnapshot {
  const to = escalated === true ? (rule.escalate?.to ?? []) : [];
  return { ...rule, rosters: rule.rosters.map((roster) => [...roster, ...to]) };
}

/** The names of the people who asked for a turn, and of the people who had asked when its call was asked about. */
export function requestersOf({ requester, others = [] }: Asking = {}, frozen?: Authority): string[] {
  // If nobody knows who asked, the others do not take that person's place.
  const named = requester === undefined ? [] : [requester, ...others];
  return [...new Set([...(frozen?.requesters ?? []), ...named])];
}

/** The people who asked for a turn: whoever started it, and the others whose words it has read. */
interface Asking {
  requester?: string;
  others?: string[];
}

/** A name as the origin of a turn takes it. */
const IS_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
/** The most people besides the requester whom a turn names. */
export const MOST_OTHERS = 1000;

/** Adds people whose words a turn reads to those who asked for it. This is the only way in which they become more. */
export function withRequesters<O extends Asking>(origin: O | undefined, names: Iterable<string>): O | Asking {
  const { requester, others = [] } = origin ?? {};
  const all = new Set([...others, ...Array.from(names, (name) => (IS_NAME.test(name) ? name : SOMEBODY))]);
  if (requester !== undefined) all.delete(requester);
  if (all.size === others.length && others.every((name) => all.has(name))) return origin ?? {};
  // More would not be read. So nobody knows them, and nobody may decide.
  return { ...origin, others: all.size > MOST_OTHERS ? [SOMEBODY] : [...all] };
}

/**
 * What somebody should know before a model reads their words: who answers, edits, or gives a reason counts as somebody
 * who asked. Undefined: the rule of the call does not mind. `now`: milliseconds since 1970.
 */
export function afterWords(
  authority: Authority | undefined,
  { approver, now }: { approver: string; now: number },
): string | undefined {
  if (authority?.rule.notRequester !== true) return undefined;
  const requesters = [...authority.requesters, voterIn(authority, approver)];
  const left = votersOf({ ...authority, requesters }, now);
  const isTooFew = left !== undefined && left.length < approvalsNeeded(authority.rule);
  return `${WORDS_COUNT}${isTooFew ? ' Too few others could approve it.' : ''}`;
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
