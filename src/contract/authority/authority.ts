import type { VoteSignature } from '../decision';
import { defined } from '../defined';
import { soundCheck } from '../schema/message';
import type { JsonSchema } from '../tool';
import {
  type Assurance,
  ASSURANCES,
  type CastVote,
  type InPlaceOf,
  RULE_ACTIONS,
  type RuleSnapshot,
  seatingOf,
  stricterRule,
  type Voter,
  type VoteRefusal,
} from './votes';

/**
 * Who decides a call, as the approvers file said when it was asked about. It is frozen with the request: a changed file can
 * only add to it.
 */
export interface Authority {
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  /** SHA-256 (hex) of the rule. */
  ruleDigest: string;
  rule: RuleSnapshot;
  /** Those whom the rule concerns. Absent: it lets each person of the file decide alone, and these are too many to list. */
  people?: readonly Voter[];
  /** Nobody decided in time, so those whom the rule names for this may, too. That is the word of the workflow. */
  escalated?: true;
  /** Whose words the turn had taken up when it asked, by their names in the file where they have one. Empty: nobody knows. */
  requesters: readonly string[];
}

/** A vote as it is kept, with what it was cast on. */
export interface Vote extends CastVote {
  decisionId: string;
  /** Workflow time, ISO 8601. */
  at: string;
  /** Of what the voter saw. */
  seenDigest?: string;
  reason?: string;
  /** Only the worker can say whether it counts. */
  signature?: VoteSignature;
  /** A call in doubt is started once more by it: that is what its signature says. */
  runsAgain?: true;
}

const TEXT: JsonSchema = { type: 'string', maxLength: 1000 };
const NAMES: JsonSchema = { type: 'array', items: TEXT };
const COUNT: JsonSchema = { type: 'integer', minimum: 1, maximum: 1000 };
const MS: JsonSchema = { type: 'number', minimum: 1, maximum: 1e12 };

/** An authority as it comes from an activity, which an operator can complete with anything. */
export const AUTHORITY: JsonSchema = {
  type: 'object',
  properties: {
    fileDigest: TEXT,
    ruleDigest: TEXT,
    rule: {
      type: 'object',
      properties: {
        name: TEXT,
        then: { enum: [...RULE_ACTIONS] },
        rosters: { type: 'array', items: NAMES },
        need: COUNT,
        groups: NAMES,
        notRequester: { type: 'boolean' },
        denyNeeds: COUNT,
        assurance: { enum: [...ASSURANCES] },
        expiresMs: MS,
        escalate: { type: 'object', properties: { afterMs: MS, to: NAMES }, required: ['afterMs', 'to'] },
      },
      required: ['name', 'then', 'rosters', 'need', 'groups', 'notRequester', 'denyNeeds', 'assurance'],
    },
    people: {
      type: 'array',
      maxItems: 1000,
      items: {
        type: 'object',
        properties: { name: TEXT, groups: NAMES, delegates: NAMES, mail: TEXT },
        required: ['name', 'groups', 'delegates'],
      },
    },
    requesters: NAMES,
    escalated: { const: true },
  },
  required: ['fileDigest', 'ruleDigest', 'rule', 'requesters'],
};

/** What a worker says beside why a person has to look again. */
export const ASKED_AGAIN = { struck: NAMES, authority: AUTHORITY, secret: TEXT };

const issuesOf = /* @__PURE__ */ soundCheck(AUTHORITY);

/** Who decides, as anybody may have written it. Undefined: it cannot be read. */
export function readAuthority(value: unknown): Authority | undefined {
  return isAuthority(value) ? value : undefined;
}

function isAuthority(value: unknown): value is Authority {
  return issuesOf(value).length === 0;
}

/** The person whom an approver's name means: a name or a mail address of the file, whatever its case. */
export function personIn(people: readonly Voter[], approver: string): string | undefined {
  const wanted = approver.toLowerCase();
  return people.find(({ name, mail }) => [name, mail].some((one) => one?.toLowerCase() === wanted))?.name;
}

/** Whether somebody may vote under an authority, and as whom. */
export type Voting = { ok: true; voter: string } | { ok: false; why: VoteRefusal };

/** Whom an approver's name means under an authority, whether they may vote or not. */
export function voterIn({ people }: Partial<Authority> = {}, approver: string): string {
  return people === undefined ? approver.toLowerCase() : (personIn(people, approver) ?? approver);
}

/** Looks an approver up among those who may vote. */
export function votingOf(authority: Authority, approver: string, place?: InPlaceOf): Voting {
  const { people, requesters } = authority;
  const voter = voterIn(authority, approver);
  if (people === undefined)
    return place === undefined ? { ok: true, voter } : { ok: false, why: 'no_places' };
  const seating = seatingOf(ruleInForce(authority), { people, requesters })(voter, place);
  return seating.ok ? { ok: true, voter } : seating;
}

/** Who may vote under an authority, by name. Undefined: everybody of the file. */
export function votersOf(authority: Authority): string[] | undefined {
  const { people, requesters } = authority;
  if (people === undefined) return undefined;
  const seatingFor = seatingOf(ruleInForce(authority), { people, requesters });
  return people.flatMap(({ name }) => (seatingFor(name).ok ? [name] : []));
}

/** An authority that is as strict as both. People and requesters are those of the later one, who asked before included. */
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
    ...defined({ people }),
    ...(before.escalated === true || later.escalated === true ? { escalated: true } : {}),
  };
}

/** Who decides a call that was prepared again: it cannot leave the rule that its request was under. */
export function joinedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority ?? before.authority;
  return stricterAuthority(before.authority, now.authority);
}

/** Who decides a call that was asked about anew: today's rule alone. Whoever asked for the turn then still did. */
export function renewedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority;
  const requesters = [...new Set([...before.authority.requesters, ...now.authority.requesters])];
  return { ...now.authority, requesters };
}

/** An authority whose request was escalated: those whom its rule names for this may vote, too. */
export function escalatedAuthority(authority: Authority): Authority {
  return { ...authority, escalated: true };
}

/** The rule as it holds now: whom the request was escalated to stand in every roster. */
export function ruleInForce({ rule, escalated }: Authority): RuleSnapshot {
  const to = escalated === true ? (rule.escalate?.to ?? []) : [];
  return { ...rule, rosters: rule.rosters.map((roster) => [...roster, ...to]) };
}

/** Whoever asked for a turn, as far as they are named, and those who had when its call was asked about. */
export function requestersOf(
  origin: { requester?: string; others?: readonly string[] } | undefined,
  frozen?: Authority,
): string[] {
  const named = [...(frozen?.requesters ?? []), origin?.requester, ...(origin?.others ?? [])];
  return [...new Set(named.flatMap((name) => name ?? []))];
}

/**
 * How sure a rule wants it to be whose vote this is. Undefined: a claim will do, or no rule says who decides. Nothing runs
 * by a denial.
 */
export function assuranceWanted(
  authority: Authority | undefined,
  decision: 'approved' | 'denied' | 'run-again',
): Exclude<Assurance, 'claimed'> | undefined {
  const wanted = authority?.rule.assurance ?? 'claimed';
  return wanted === 'claimed' || decision === 'denied' ? undefined : wanted;
}

/** What is said of somebody who may not vote. */
export const WHY_NOT: Readonly<Record<VoteRefusal, string>> = {
  // A request lists only those whom its rule concerns: whoever is missing may stand in the file all the same.
  unknown_person: 'is not named by the rule',
  not_named: 'is not named by the rule',
  requester: 'asked for the turn',
  requesters_delegate: 'is a delegate of who asked for the turn',
  requester_unknown: 'may not: nobody knows who asked for the turn',
  place_not_named: 'may not vote in the place of somebody whom the rule does not name',
  own_place: 'cannot vote in their own place',
  no_places: 'may vote as themselves: the rule lets everybody',
};

/** Why somebody may not decide, with those who may. Undefined: they may. */
export function whyMayNot(
  authority: Authority,
  { approver, inPlaceOf }: { approver: string; inPlaceOf?: InPlaceOf | undefined },
  votes: readonly CastVote[] = [],
): string | undefined {
  const voting = votingOf(authority, approver, inPlaceOf);
  if (voting.ok) return undefined;
  const voted = new Set(votes.map(({ voter }) => voter));
  const left = (votersOf(authority) ?? []).filter((name) => !voted.has(name));
  const others = left.length === 0 ? 'nobody else may' : `these may: ${someNames(left)}`;
  return `${approver} ${WHY_NOT[voting.why]}; ${others}`;
}

const MOST_NAMED = 10;

/** A few names of a list, as text. */
export function someNames(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return names.slice(0, MOST_NAMED).join(', ') + more;
}
