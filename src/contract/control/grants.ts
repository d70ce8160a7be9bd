import { reasonProblem } from '../call-texts';
import { defined } from '../defined';
import { DAY, LIMITS, TIMES } from '../limits';
import { utf8Bytes } from '../text/bytes';
import { type GrantVotes, lackingOn } from './grant-votes';
import { type Narrowing, narrowingProblem } from './narrowing';

/**
 * The terms by which somebody allows calls of one tool by one agent in advance. A grant holds only while its tool and
 * its rules stay the same. A signature covers all fields.
 */
export interface GrantTerms {
  /** Drawn by the person who gives the grant. An id that was revoked cannot be used again. */
  id: string;
  agent: string;
  tool: string;
  toolDigest: string;
  /** The digest of the rule of the approvers file under which the grant was given. Empty: there was no file. */
  ruleDigest: string;
  /** The digest of the policy rule that fitted. Empty: no rule fitted. */
  policyDigest: string;
  narrowing: Narrowing;
  /** The most calls that the grant allows. */
  times: number;
  /** ISO 8601. From this moment on, the grant allows nothing. */
  until: string;
  /** The time at which the grant was given, by the giver's clock. ISO 8601. */
  at: string;
  /** The person who gives the grant, by their name in the approvers file if there is a file. */
  by: string;
}

/** A grant as a client sends it. */
export interface GrantAsked extends GrantTerms, Pick<GrantVotes, 'signature' | 'authority'> {
  reason?: string;
}

/** A grant as the workflow of CONTROL keeps it. */
export interface Grant extends GrantAsked, Pick<GrantVotes, 'confirmed'> {
  /** When the workflow took it, in workflow time. ISO 8601. */
  takenAt: string;
  /** Keys of the calls that have claimed a use, in order. */
  uses: readonly string[];
}

/** Everything that the workflow of CONTROL knows about grants. */
export interface GrantsState {
  /** ISO 8601. Every grant that was given before this moment is void. Absent: no moment was ever set. */
  floor?: string;
  grants: readonly Grant[];
  /** The grants that were revoked, with the times when they were given and would have ended. */
  revoked: readonly RevokedGrant[];
}

export type RevokedGrant = Pick<GrantTerms, 'id' | 'at' | 'until'>;

/** A grant as it is listed. */
export interface GrantSeen extends GrantAsked, Pick<Grant, 'confirmed'> {
  /** When the workflow took it, in workflow time. ISO 8601. */
  takenAt: string;
  /** The number of uses that are claimed. */
  used: number;
}

/** All grants, for people and for workers that look for one. */
export interface GrantsSeen {
  floor?: string;
  grants: GrantSeen[];
}

/** The facts about grants that every worker reads before a call starts by a grant. */
export interface GrantsMemo {
  floor?: string;
  revoked: string[];
  /** The number of grants. With 0, nobody needs to ask for them. */
  open: number;
}

/**
 * The question of a worker whether a call may start by a grant. All fields but `id` describe the call, as the worker
 * knows it.
 */
export interface UseAsked extends Pick<
  GrantTerms,
  'id' | 'agent' | 'tool' | 'toolDigest' | 'ruleDigest' | 'policyDigest'
> {
  /** Names the call: the id of its run, as the server says, and its key. */
  key: string;
}

/** A use of a grant that was claimed. */
export interface UseTaken {
  grant: GrantTerms & Pick<Grant, 'signature' | 'confirmed'>;
  /** The number of the use. The first use is 1. */
  use: number;
  /** The same call had claimed this use before. */
  again?: true;
}

/** Takes back one grant, or all grants that were given so far. */
export interface RevokeAsked {
  /** Absent: all grants end, because the floor is raised. */
  id?: string;
  by: string;
  reason?: string;
}

export interface Revoked {
  /** The grants that were ended. */
  ended: GrantTerms[];
  /** The new floor. Set only if all grants were ended. */
  floor?: string;
}

/** Why a change was refused. */
export interface GrantRefused {
  code: 'malformed' | 'grant_refused' | 'grants_full' | 'grant_not_found' | 'grant_void';
  message: string;
}

const EMPTY: GrantsState = { grants: [], revoked: [] };

/** The message for a grant that is not there. */
export const noGrantText = (id: string): string => `there is no grant ${id}`;

/** The state before the first grant. */
export const noGrants = (): GrantsState => EMPTY;

/** Whether an entry that holds until `end` is still kept. It is kept until every clock has passed `end`. */
export const isLeftAt = (end: string, now: number): boolean => Date.parse(end) + TIMES.clockSkew > now;

/** Drops entries that have ended. A grant whose uses are all claimed stays, so that it cannot be given again. */
export function withoutPast(state: GrantsState, now: number): GrantsState {
  const isLeft = ({ until }: { until: string }): boolean => isLeftAt(until, now);
  const [grants, revoked] = [state.grants.filter(isLeft), state.revoked.filter(isLeft)];
  const isSame = grants.length === state.grants.length && revoked.length === state.revoked.length;
  return isSame ? state : { ...state, grants, revoked };
}

/** Adds a grant. Adding the same grant again changes nothing. */
export function addGrant(
  before: GrantsState,
  asked: GrantAsked,
  now: number,
): { state: GrantsState; grant: Grant } | GrantRefused {
  const state = withoutPast(before, now);
  const known = state.grants.find(({ id }) => id === asked.id);
  const why = known === undefined ? whyNotTaken(state, asked, now) : undefined;
  if (why !== undefined) return why;
  const grant: Grant = { ...asked, takenAt: new Date(now).toISOString(), uses: [] };
  if (known === undefined) {
    const grants = [...state.grants, grant];
    return whyFull(grants) ?? { state: { ...state, grants }, grant };
  }
  const { takenAt, uses, confirmed } = known;
  const same = { ...grant, takenAt, uses, ...defined({ confirmed }) };
  if (JSON.stringify(same) === JSON.stringify(known)) return { state, grant: known };
  return refuseGrant('grant_refused', 'there is another grant of this id');
}

/**
 * Why a text cannot be the reason for a pause, a grant or an absence, or for the end of one. Undefined if it can. No
 * reason is fine.
 */
export function reasonIssue(text = ''): string | undefined {
  if (utf8Bytes(text) > LIMITS.pauseReasonBytes)
    return `the reason has over ${LIMITS.pauseReasonBytes} bytes`;
  const problem = reasonProblem(text);
  return problem && `the reason cannot be taken: ${problem}`;
}

/** The refusal of a grant that would hold too long. */
export const GRANT_TOO_LONG = `a grant holds for at most ${TIMES.grantMost / DAY} days`;

function whyNotTaken(state: GrantsState, asked: GrantAsked, now: number): GrantRefused | undefined {
  const { id, at, until, times, reason, narrowing } = asked;
  const [given, ends] = [Date.parse(at), Date.parse(until)];
  const wrong = narrowingProblem(narrowing) ?? reasonIssue(reason);
  if (wrong !== undefined) return refuseGrant('malformed', wrong);
  if (times > LIMITS.grantTimes)
    return refuseGrant('malformed', `a grant is for at most ${LIMITS.grantTimes} calls`);
  if (given > now + TIMES.clockSkew)
    return refuseGrant('grant_refused', 'it is dated in the future: the clock of who gives it is wrong');
  if (ends <= now || ends <= given) return refuseGrant('grant_refused', 'it would be over already');
  if (ends - given > TIMES.grantMost || ends - now > TIMES.grantMost + TIMES.clockSkew)
    return refuseGrant('grant_refused', GRANT_TOO_LONG);
  if (state.revoked.some((one) => one.id === id)) return refuseGrant('grant_refused', 'it was revoked');
  if (isBelowFloor(state, at))
    return refuseGrant('grant_refused', `all grants given before ${state.floor} are void`);
  if (state.grants.length < LIMITS.grants) return undefined;
  return refuseGrant('grants_full', `there are ${LIMITS.grants} grants already, which is the most`);
}

/** The refusal if these grants leave no room: all grants together have to fit one payload. */
export function whyFull(grants: readonly Grant[]): GrantRefused | undefined {
  const size = utf8Bytes(JSON.stringify(seenOf({ grants })));
  return size > LIMITS.grantsBytes
    ? refuseGrant('grants_full', 'the grants that there are leave no room')
    : undefined;
}

function isBelowFloor({ floor }: { floor?: string }, at: string): boolean {
  return floor !== undefined && Date.parse(at) < Date.parse(floor);
}

export function refuseGrant(code: GrantRefused['code'], message: string): GrantRefused {
  return { code, message };
}

/**
 * Takes back one grant, or all grants. If the memo has no room for one more id, all grants that were given so far
 * end.
 */
export function revokeGrants(
  before: GrantsState,
  { id, reason }: Pick<RevokeAsked, 'id' | 'reason'>,
  now: number,
): { state: GrantsState; revoked: Revoked } | GrantRefused {
  const wrong = reasonIssue(reason);
  if (wrong !== undefined) return refuseGrant('malformed', wrong);
  const state = withoutPast(before, now);
  if (id === undefined) return raiseFloor(state, now);
  const grant = state.grants.find((one) => one.id === id);
  if (grant === undefined) return refuseGrant('grant_not_found', noGrantText(id));
  const { at, until } = grant;
  const next: GrantsState = {
    ...state,
    grants: state.grants.filter((one) => one !== grant),
    revoked: [...state.revoked, { id, at, until }],
  };
  if (utf8Bytes(JSON.stringify(memoOf(next))) > LIMITS.memoBytes) return raiseFloor(state, now);
  return { state: next, revoked: { ended: [termsOf(grant)] } };
}

/** Ends all grants. The new floor is above the time of every known grant, because the clock of a giver may be ahead. */
function raiseFloor(state: GrantsState, now: number): { state: GrantsState; revoked: Revoked } {
  const given = [...state.grants, ...state.revoked].map(({ at }) => Date.parse(at) + 1);
  const before = state.floor === undefined ? [] : [Date.parse(state.floor)];
  const floor = new Date(Math.max(now, ...given, ...before)).toISOString();
  const ended = state.grants.map(termsOf);
  return { state: { floor, grants: [], revoked: [] }, revoked: { ended, floor } };
}

/** Claims one use for a call. A call that claims again gets the same use, which counts once. */
export function claimUse(
  before: GrantsState,
  asked: UseAsked,
  now: number,
): { state: GrantsState; taken: UseTaken } | GrantRefused {
  const state = withoutPast(before, now);
  const grant = state.grants.find(({ id }) => id === asked.id);
  const why = whyVoid(memoOf(state), asked.id, grant) ?? whyNotClaimed(grant, asked, now);
  if (why !== undefined || grant === undefined) return refuseGrant('grant_void', why ?? NOT_THERE);
  const at = grant.uses.indexOf(asked.key);
  if (at >= 0) return { state, taken: { grant: termsOf(grant), use: at + 1, again: true } };
  if (grant.uses.length >= grant.times)
    return refuseGrant(
      'grant_void',
      grant.times === 1 ? 'its one use is claimed' : `its ${grant.times} uses are claimed`,
    );
  const used = { ...grant, uses: [...grant.uses, asked.key] };
  const grants = state.grants.map((one) => (one === grant ? used : one));
  return { state: { ...state, grants }, taken: { grant: termsOf(grant), use: used.uses.length } };
}

const NOT_THERE = 'it is not there';

function whyNotClaimed(grant: Grant | undefined, asked: UseAsked, now: number): string | undefined {
  if (grant === undefined) return NOT_THERE;
  const lacking = lackingOn(grant, now);
  return whyEnded(grant, now) ?? whyOther(grant, asked) ?? (lacking && `it is not confirmed: ${lacking}`);
}

/** Why a grant allows nothing any more. Undefined: it has not ended. */
export function whyEnded({ until }: Pick<GrantTerms, 'until'>, now: number): string | undefined {
  return Date.parse(until) > now ? undefined : `it ended at ${until}`;
}

/** Why a grant is not for this call, apart from the arguments. Undefined: the grant is for this call. */
export function whyOther(grant: GrantTerms, call: Omit<UseAsked, 'id' | 'key'>): string | undefined {
  if (grant.tool !== call.tool || grant.agent !== call.agent) return 'it is for another tool or agent';
  if (grant.toolDigest !== call.toolDigest) return 'the tool changed since it was given';
  const isRule = grant.ruleDigest === call.ruleDigest && grant.policyDigest === call.policyDigest;
  return isRule ? undefined : 'the rule changed since it was given, or another one fits';
}

/** Why the memo makes a grant void. Undefined: the grant is not void. */
export function whyVoid(
  memo: Pick<GrantsMemo, 'floor' | 'revoked'>,
  id: string,
  grant: Pick<GrantTerms, 'at'> | undefined,
): string | undefined {
  if (memo.revoked.includes(id)) return 'it was revoked';
  if (grant === undefined || !isBelowFloor(memo, grant.at)) return undefined;
  return `all grants given before ${memo.floor} were revoked`;
}

/**
 * The part of a grant that a worker checks. It lacks `authority`, because the worker finds out by itself who decides.
 */
function termsOf({ takenAt: _, uses: __, reason: ___, authority: ____, ...terms }: Grant): UseTaken['grant'] {
  return terms;
}

/** The memo that workers read. */
export function memoOf({ floor, revoked, grants }: GrantsState): GrantsMemo {
  return { ...defined({ floor }), revoked: revoked.map(({ id }) => id), open: grants.length };
}

/** The grants as they are listed. */
export function seenOf({ floor, grants }: Pick<GrantsState, 'floor' | 'grants'>): GrantsSeen {
  return {
    ...defined({ floor }),
    grants: grants.map(grantSeen),
  };
}

/** A grant as it is listed. */
export function grantSeen({ uses, ...grant }: Grant): GrantSeen {
  return { ...grant, used: uses.length };
}
