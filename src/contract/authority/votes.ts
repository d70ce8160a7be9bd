import type { SignatureKind } from '../decision';
import { defined } from '../defined';
import type { Safety } from '../tool';

/** How sure it is that a vote is a person's own, weakest first. */
export const ASSURANCES = ['claimed', 'signed_in', 'signed', 'signed_ssh'] as const;
export type Assurance = (typeof ASSURANCES)[number];

/** What a rule does with a call. `by_safety`: dangerous calls ask, others run. */
export const RULE_ACTIONS = ['run', 'ask', 'refuse', 'by_safety'] as const;
export type RuleAction = (typeof RULE_ACTIONS)[number];

/**
 * What a rule asks of those who decide. It is plain data, so that it can be frozen where a request is made, and two of
 * them can be joined: each roster has to name a voter.
 */
export interface VoteRule {
  /** Names of people and `group:<name>`. A voter stands in every roster; without a roster anybody may vote. */
  rosters: readonly (readonly string[])[];
  /** How many people have to approve. */
  need: number;
  /** Groups that each have to be heard: one vote each, of different people. */
  groups: readonly string[];
  /** Nobody who asked for the turn votes, and no delegate of theirs. */
  notRequester: boolean;
  /** How many denials block. */
  denyNeeds: number;
  assurance: Assurance;
  /** Absent: the tool says. */
  expiresMs?: number;
  escalate?: { afterMs: number; to: readonly string[] };
}

/** A rule as it is frozen. */
export interface RuleSnapshot extends VoteRule {
  name: string;
  then: RuleAction;
}

/** Somebody of the file, as far as voting goes. */
export interface Voter {
  name: string;
  groups: readonly string[];
  /** Who votes in this person's place. */
  delegates: readonly string[];
  /** Names the same person. */
  mail?: string;
}

/** Whether two names are of one person: whether letters are large does not matter. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** In whose place a vote is cast, and by which out-of-office. The workflow checks the names only. */
export interface InPlaceOf {
  /** By the name in the file. */
  person: string;
  /** The id of the out-of-office. */
  entry: string;
}

/** One vote as it stands; a person who changed their mind has one. */
export interface CastVote {
  voter: string;
  decision: 'approved' | 'denied';
  /** Absent: the voter votes as themselves, or for whom the file makes them a delegate of. */
  inPlaceOf?: InPlaceOf;
  /** Whose signature came with it. Absent: none did, so the name is as claimed. The worker says whether it counts. */
  signedBy?: SignatureKind;
}

/** Who voted, in words. */
export function voterText({ voter, inPlaceOf }: Pick<CastVote, 'voter' | 'inPlaceOf'>): string {
  return inPlaceOf === undefined ? voter : `${voter} in place of ${inPlaceOf.person}`;
}

/** Who asked for a turn, by name. Undefined, or nobody: it is not known who did. */
export type Requesters = readonly string[] | undefined;

/** Why somebody may not vote. */
export type VoteRefusal =
  | 'unknown_person'
  | 'not_named'
  | 'requester'
  | 'requesters_delegate'
  | 'requester_unknown'
  | 'place_not_named'
  | 'own_place'
  | 'no_places';

/** The seats that a person may take: the people in whose place they vote. */
export type Seating = { ok: true; seats: readonly string[] } | { ok: false; why: VoteRefusal };

/** The stricter of two actions for a call of this safety. */
export function stricterAction(
  one: RuleAction,
  other: RuleAction,
  safety: Safety,
): Exclude<RuleAction, 'by_safety'> {
  const order = ['run', 'ask', 'refuse'] as const;
  const [left, right] = [one, other].map((action) => order.indexOf(actionFor(action, safety)));
  return order[Math.max(left ?? 0, right ?? 0)] ?? 'refuse';
}

/** What an action comes to: a rule can only tighten what safety says. */
export function actionFor(action: RuleAction, safety: Safety): Exclude<RuleAction, 'by_safety'> {
  if (action === 'refuse' || action === 'ask') return action;
  return safety === 'dangerous' ? 'ask' : 'run';
}

/** A rule that is as strict as both on every point. */
export function stricterRule(one: VoteRule, other: VoteRule): VoteRule {
  const sooner = [one, other].flatMap(({ escalate }) => escalate ?? []);
  const expires = [one, other].flatMap(({ expiresMs }) => expiresMs ?? []);
  const [first] = sooner.sort((a, b) => a.afterMs - b.afterMs);
  return {
    rosters: distinct([...one.rosters, ...other.rosters]),
    need: Math.max(one.need, other.need),
    groups: [...new Set([...one.groups, ...other.groups])],
    notRequester: one.notRequester || other.notRequester,
    denyNeeds: Math.min(one.denyNeeds, other.denyNeeds),
    assurance: strongerAssurance(one.assurance, other.assurance),
    ...(expires.length === 0 ? {} : { expiresMs: Math.min(...expires) }),
    ...(first === undefined ? {} : { escalate: first }),
  };
}

function distinct(rosters: readonly (readonly string[])[]): (readonly string[])[] {
  const seen = new Map(rosters.map((roster) => [JSON.stringify([...roster].sort()), roster]));
  return [...seen.values()];
}

/** In words: `signed in`. */
export function assuranceText(assurance: Assurance): string {
  return assurance.replaceAll('_', ' ');
}

/** Whether one assurance is at least another. */
export function isAssured(has: Assurance, wanted: Assurance): boolean {
  return ASSURANCES.indexOf(has) >= ASSURANCES.indexOf(wanted);
}

function strongerAssurance(one: Assurance, other: Assurance): Assurance {
  return isAssured(one, other) ? one : other;
}

/** Those among whom a rule looks for voters. */
export interface Among {
  people: readonly Voter[];
  requesters: Requesters;
  /** Who votes in whose place now because that person is away. Absent: the votes themselves are all that is known. */
  standIns?: readonly Deputy[];
}

/** Somebody, and the person in whose place they vote. */
export interface Deputy {
  voter: string;
  person: string;
}

/**
 * Says of whom they stand in for somebody who asked, by the file or because that person is away. Where those who asked do
 * not vote, these do not either.
 */
export function deputiesOf(
  requesters: Requesters = [],
  { people = [], standIns = [] }: Partial<Pick<Among, 'people' | 'standIns'>>,
): (name: string) => boolean {
  const asked = new Set(requesters.map((name) => name.toLowerCase()));
  const hasAsked = (name: string): boolean => asked.has(name.toLowerCase());
  const listed = people.flatMap(({ name, delegates }) => (hasAsked(name) ? delegates : []));
  const placed = standIns.flatMap(({ voter, person }) => (hasAsked(person) ? [voter] : []));
  const all = new Set([...listed, ...placed].map((name) => name.toLowerCase()));
  return (name) => all.has(name.toLowerCase());
}

/** Says which seats a person may take: in somebody's place that person's seat alone, whether the voter is named or not. */
export type SeatingFor = (name: string, place?: InPlaceOf) => Seating;

/**
 * Says for any person which seats they may take: their own, or those of the people they are a delegate of. Delegation
 * does not pass on: a delegate's delegate has no seat.
 */
export function seatingOf(
  rule: Pick<VoteRule, 'rosters' | 'notRequester'>,
  { people, requesters, standIns }: Among,
): SeatingFor {
  const isNamed = namedBy(rule.rosters);
  const byName = new Map(people.map((one) => [one.name, one]));
  const asked = new Set(rule.notRequester ? requesters : []);
  const isUnknown = rule.notRequester && asked.size === 0;
  const isDeputy = deputiesOf([...asked], defined({ people, standIns }));
  const delegators = new Map<string, string[]>();
  for (const one of people)
    for (const name of isNamed(one) && !asked.has(one.name) ? one.delegates : [])
      delegators.set(name, [...(delegators.get(name) ?? []), one.name]);
  const seatOf = (person: string, voter: string): Seating => {
    const seat = byName.get(person);
    if (person === voter) return { ok: false, why: 'own_place' };
    if (asked.has(person)) return { ok: false, why: 'requesters_delegate' };
    return seat !== undefined && isNamed(seat)
      ? { ok: true, seats: [person] }
      : { ok: false, why: 'place_not_named' };
  };
  return (name, place) => {
    const person = byName.get(name);
    if (person === undefined && place === undefined) return { ok: false, why: 'unknown_person' };
    if (isUnknown) return { ok: false, why: 'requester_unknown' };
    if (asked.has(name)) return { ok: false, why: 'requester' };
    if (isDeputy(name)) return { ok: false, why: 'requesters_delegate' };
    if (place !== undefined) return seatOf(place.person, name);
    if (person !== undefined && isNamed(person)) return { ok: true, seats: [name] };
    const seats = delegators.get(name) ?? [];
    return seats.length === 0 ? { ok: false, why: 'not_named' } : { ok: true, seats };
  };
}

function namedBy(rosters: VoteRule['rosters']): (person: Voter) => boolean {
  const sets = rosters.map((roster) => new Set(roster));
  return ({ name, groups }) =>
    sets.every((set) => set.has(name) || groups.some((group) => set.has(`${GROUP}${group}`)));
}

/** Begins the name of a group where people may stand, too. */
export const GROUP = 'group:';

/** How a request stands. */
export interface Standing {
  state: 'open' | 'approved' | 'denied';
  /** Approvals that count: who cast each, and the seat it takes. */
  counted: readonly Seat[];
  /** How many more have to approve. */
  missing: number;
  /** Groups that have not been heard. */
  missingGroups: readonly string[];
  /** Who may vote and has not, by name. */
  mayVote: readonly string[];
  /** Too few may vote: nobody can bring it to an approval. */
  isStuck: boolean;
}

/** A vote and the person in whose place it is cast. */
export interface Seat {
  voter: string;
  seat: string;
}

/** Counts votes. A vote of somebody who may not vote does not count. Each person has one vote, and each seat is taken once. */
export function standingOf(rule: VoteRule, votes: readonly CastVote[], among: Among): Standing {
  const seatingFor = seatingOf(rule, among);
  const seats = new Map(
    among.people.flatMap(({ name }) => {
      const seating = seatingFor(name);
      return seating.ok ? [[name, seating.seats] as const] : [];
    }),
  );
  const last = new Map(votes.map((vote) => [vote.voter, vote]));
  for (const { voter, inPlaceOf } of last.values()) {
    const seating = inPlaceOf && seatingFor(voter, inPlaceOf);
    if (seating !== undefined) seats.set(voter, seating.ok ? seating.seats : []);
  }
  const allowed = [...last.values()].filter(({ voter }) => (seats.get(voter) ?? []).length > 0);
  const approvers = allowed.flatMap(({ voter, decision }) => (decision === 'approved' ? voter : []));
  const mayVote = [...seats.keys()].filter((name) => !last.has(name));
  const { counted, missingGroups } = countOf(rule, approvers, { seats, people: among.people });
  const best = countOf(rule, [...approvers, ...mayVote], { seats, people: among.people });
  const missing = Math.max(0, rule.need - counted.length, missingGroups.length);
  const isDenied = allowed.length - approvers.length >= rule.denyNeeds;
  return {
    state: isDenied ? 'denied' : missing === 0 ? 'approved' : 'open',
    counted,
    missing,
    missingGroups,
    mayVote,
    isStuck: best.counted.length < rule.need || best.missingGroups.length > 0,
  };
}

/** Who may vote, by seat. */
interface Seats {
  seats: ReadonlyMap<string, readonly string[]>;
  people: readonly Voter[];
}

function countOf(
  rule: VoteRule,
  approvers: readonly string[],
  { seats, people }: Seats,
): Pick<Standing, 'counted' | 'missingGroups'> {
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

/** Gives each name one of its options, no option twice, for as many names as can be; who has each option. */
function matched(optionsOf: ReadonlyMap<string, readonly string[]>): Map<string, string> {
  const taken = new Map<string, string>();
  const place = (name: string, tried: Set<string>): boolean => {
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
