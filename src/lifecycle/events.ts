import {
  type AskAgain,
  type InDoubt,
  isValidCall,
  type PreparedCall,
  type SpentDecision,
  timeToDecide,
  type ValidCall,
} from '../contract/call';
import { type ClosingCause, OPEN_BEFORE, VOTED_BEFORE, whyInvalid } from '../contract/call-texts';
import type { Vote, Authority } from '../contract/authority';
import type { Abandonment, Accepted, QuestionAnswer, Refused } from '../contract/decision';
import { defined } from '../contract/defined';
import { seenDigestOf } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import type { MovedCall } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import { joinedAuthority } from '../authority/votes/authority-in-force';
import {
  type Approvals,
  type CallBasics,
  type CallState,
  type DoneCall,
  type FinalDecision,
  type Leave,
  type PreparingCall,
  type QuestionCall,
  type RequestCall,
  type Verdicts,
  isOpen,
  leaveOf,
  secretOf,
  withoutVoter,
} from './state';

/** A call was opened. Times are workflow times in ms. */
interface Registered {
  type: 'registered';
  call: ValidCall;
  callKey: string;
  at: number;
  asking?: QuestionCall['asking'];
}

/** A call has its result. `cause` is set if the workflow closed it by itself, `standing` if a person did. */
interface Closed {
  type: 'closed';
  callId: string;
  result: ToolResult;
  at: number;
  cause?: ClosingCause;
  standing?: FinalDecision;
  contentDigest?: string;
  said?: QuestionAnswer;
}

/** The arguments of a call were changed. `isPrepared`: the call is prepared anew before anybody can approve it. */
export interface Edited {
  type: 'edited';
  callId: string;
  arguments: JsonObject;
  digest: string;
  approver: string;
  reason?: string;
  isPrepared: boolean;
}

/** What happened to one call. */
export type CallEvent =
  | Closed
  | Edited
  | { type: 'voted'; callId: string; vote: Vote }
  | { type: 'vote_withdrawn'; callId: string; voter: string }
  /** The votes from before a reset do not count. */
  | { type: 'votes_voided'; callId: string }
  | { type: 'renewed'; callId: string; by: string }
  | {
      type: 'prepared';
      callId: string;
      prepared: PreparedCall;
      at: number;
    }
  /** `runsAgain`: the decision lets a call in doubt run once more. */
  | {
      type: 'allowed';
      callId: string;
      decision: SpentDecision;
      standing: FinalDecision;
      isOld: boolean;
      runsAgain?: true;
    }
  | { type: 'started'; callId: string; secret?: string }
  /** A worker gave the call back without starting it. `isHeld`: a pause holds it. */
  | { type: 'given_back'; callId: string; isHeld: boolean; mayHaveRun?: true }
  /** The decision, or some of its votes, do not hold. */
  | { type: 'voided'; callId: string; said: AskAgain; at: number }
  | { type: 'lost'; callId: string; doubt: InDoubt; at: number }
  /** An outcome came before the loss of the call was known. */
  | { type: 'reported'; callId: string; result: ToolResult }
  | { type: 'escalated'; callId: string }
  | { type: 'noted'; callId: string; note: string }
  | { type: 'scope_cancelled'; callId: string }
  /** A reset made the call one that an earlier run may have decided and run. */
  | { type: 'outdated'; callId: string }
  /** A call that waited on another build is open here. */
  | { type: 'taken_up'; callId: string; wait: MovedCall };

/** What happened to the calls of a step or a gate. */
export type LifeEvent =
  | CallEvent
  | Registered
  | { type: 'began' }
  | { type: 'knew'; schemas: Readonly<Record<string, JsonSchema>> }
  /** A message was accepted. `isHeard`: the model reads words of its sender. */
  | { type: 'accepted'; verdict: Accepted; digest: string; isHeard: boolean }
  /** Accepted messages count as refused from now on: the same message, sent once more, changes nothing. */
  | { type: 'verdicts_voided'; callId: string; ids: readonly string[]; why: string }
  | { type: 'heard'; names: readonly string[] }
  | { type: 'cancelled' }
  | { type: 'abandoned'; by: Abandonment & { at: number } }
  /** The workflow that asked about the call has its decision and its result. */
  | { type: 'left'; callId: string }
  /** What was closed is published. */
  | { type: 'published' };

/** What the workflow knows by itself. It is an event as it is, and changes nothing where it does not fit. */
export type LifeFact = Extract<
  LifeEvent,
  | { type: 'began' | 'knew' | 'registered' | 'taken_up' | 'prepared' | 'given_back' | 'closed' }
  | { type: 'scope_cancelled' | 'heard' | 'left' }
>;

/** The state after one event. An event that does not fit the state of its call changes nothing. */
export function apply(calls: Approvals, event: LifeEvent): Approvals {
  switch (event.type) {
    case 'began':
      return { ...calls, calls: new Map(), speakers: new Set() };
    case 'knew':
      return { ...calls, schemas: new Map([...calls.schemas, ...Object.entries(event.schemas)]) };
    case 'registered':
      return countQuestion(put(calls, opened(event)), event.call);
    case 'accepted': {
      const { verdict, digest } = event;
      const verdicts = calls.verdicts.with(verdict.decisionId, { digest, verdict });
      const speakers = event.isHeard ? new Set(calls.speakers).add(verdict.approver) : calls.speakers;
      return { ...calls, verdicts, speakers };
    }
    case 'verdicts_voided':
      return { ...calls, verdicts: withVoid(calls, event) };
    case 'heard':
      return { ...calls, speakers: new Set([...calls.speakers, ...event.names]) };
    case 'cancelled':
      return { ...calls, cancelled: true };
    case 'abandoned':
      return { ...calls, abandoned: event.by };
    case 'left':
      return leave(calls, event.callId);
    case 'published':
      return { ...calls, closings: new Map() };
    default: {
      const state = calls.calls.get(event.callId);
      const next = state && evolve(state, event);
      if (next === undefined || next === state) return calls;
      const changed = put(calls, next);
      return event.type === 'closed' ? close(changed, event, state) : changed;
    }
  }
}

/** A call after one event. */
export function evolve(state: CallState, event: CallEvent): CallState {
  if (state.phase === 'done') return state;
  switch (event.type) {
    case 'closed':
      return done(state, event);
    case 'edited':
      return state.phase === 'request' ? edited(state, event) : state;
    case 'voted':
      return { ...state, votes: [...withoutVoter(state, event.vote.voter), event.vote] };
    case 'vote_withdrawn':
      return { ...state, votes: withoutVoter(state, event.voter) };
    case 'votes_voided':
      return { ...state, votes: [], note: VOTED_BEFORE };
    case 'renewed':
      return state.phase === 'request' ? { ...state, phase: 'preparing', renewedBy: event.by } : state;
    case 'prepared':
      return state.phase === 'preparing' ? prepared(state, event) : state;
    case 'allowed':
      return allowed(state, event);
    case 'started':
      if (state.phase !== 'ready') return state;
      return { ...headOf(state), phase: 'running', leave: state.leave, secret: event.secret };
    case 'given_back': {
      if (state.phase !== 'running') return state;
      const { isHeld, mayHaveRun = state.mayHaveRun } = event;
      return { ...state, isHeld, mayHaveRun };
    }
    case 'voided':
      return state.phase === 'running' ? voided(state, event) : state;
    case 'lost': {
      if (state.phase !== 'running' && state.phase !== 'ready') return state;
      const { doubt, at: since } = event;
      const { leave } = state;
      return { ...headOf(state), votes: [], phase: 'in_doubt', leave, since, doubt, secret: secretOf(state) };
    }
    case 'reported':
      return state.phase === 'running' ? { ...state, reported: event.result } : state;
    case 'escalated':
      return { ...state, isEscalated: true };
    case 'noted':
      return { ...state, note: event.note };
    case 'scope_cancelled':
      return { ...state, isCancelled: true, note: 'cancelled; it does not run again' };
    case 'outdated':
      return outdated(state);
    case 'taken_up':
      return isOpen(state) ? takenUp(state, event.wait) : state;
  }
}

/** The call as a reset leaves it: nobody here knows whether the run before the reset ran it. */
function outdated(state: CallState): CallState {
  if (state.phase === 'done' || state.phase === 'question') return state;
  if (!('leave' in state)) return { ...state, mayHaveRun: true, note: state.note ?? OPEN_BEFORE };
  const { leave } = state;
  return { ...state, mayHaveRun: true, leave: leave.by === 'decision' ? { ...leave, isOld: true } : leave };
}

function put(calls: Approvals, state: CallState): Approvals {
  return { ...calls, calls: new Map(calls.calls).set(state.call.callId, state) };
}

/** The fields that a call takes along into each state. */
function headOf(state: CallState): CallBasics {
  const { call, callKey, generation, effective, effectiveDigest, seenDigest, votes, voided } = state;
  const { proposed, edit, editors, note, isEscalated, isOther, mayHaveRun, isCancelled } = state;
  const changed = { proposed, edit, editors, note, isEscalated, isOther, mayHaveRun, isCancelled };
  const said = { effective, effectiveDigest, seenDigest, votes, voided };
  return { call, callKey, generation, ...said, ...changed };
}

function opened({ call, callKey, at, asking }: Registered): CallState {
  const head: CallBasics = {
    call,
    callKey,
    generation: 0,
    effective: call.arguments,
    effectiveDigest: call.argsDigest,
    seenDigest: seenDigestOf(call),
    votes: [],
    voided: 0,
  };
  const wait = { since: at, deadline: deadlineOf(call, at) };
  if (call.question !== undefined) return { ...head, phase: 'question', ...wait, asking };
  const first = firstLeave(call);
  return first === undefined
    ? { ...head, phase: 'request', ...wait }
    : { ...head, phase: 'ready', leave: first };
}

/**
 * Why a call may start without a decision. The worker decides whether its grant counts. If a workflow runs the call
 * itself, grants do not count.
 */
export function firstLeave({ kind, settings, grant }: ValidCall): Leave | undefined {
  if (kind === 'run') return { by: 'nobody' };
  const counts = grant !== undefined && settings.gate === undefined && settings.grants !== 'none';
  return counts ? { by: 'grant', grant } : undefined;
}

function deadlineOf(call: ValidCall, now: number) {
  const expiresMs = timeToDecide(call);
  return expiresMs === null ? null : now + expiresMs;
}

function countQuestion(calls: Approvals, { askedBy }: ValidCall): Approvals {
  const by = askedBy === undefined ? undefined : calls.calls.get(askedBy);
  if (by?.phase !== 'running') return calls;
  const { questions, leftMs } = askedOf(by);
  return put(calls, { ...by, asked: { questions: questions + 1, leftMs } });
}

/** What a running call has asked so far. */
export function askedOf({ call, asked }: Extract<CallState, { phase: 'running' }>) {
  return asked ?? { questions: 0, leftMs: call.settings.askMs ?? 0 };
}

function withVoid(
  { verdicts }: Approvals,
  { callId, ids, why }: Extract<LifeEvent, { type: 'verdicts_voided' }>,
): Verdicts {
  const message = `${why}; look again and decide anew`;
  return ids.reduce((voided, decisionId) => {
    const spent = voided.get(decisionId);
    const verdict: Refused = { accepted: false, code: 'stale_args', message, callId, decisionId };
    return spent === undefined ? voided : voided.with(decisionId, { ...spent, verdict });
  }, verdicts);
}

function leave(calls: Approvals, callId: string): Approvals {
  const state = calls.calls.get(callId);
  if (state === undefined) return calls;
  const left = leaveOf(state);
  const open = new Map(calls.calls);
  open.delete(callId);
  const standing = left?.by === 'decision' ? left.standing : undefined;
  const closed = calls.closed.has(callId) ? calls.closed : new Map(calls.closed).set(callId, { standing });
  return { ...calls, calls: open, closed };
}

/** Notes how a call was closed, and what the time for its answer took from the call that asked. */
function close(calls: Approvals, { callId, cause, standing, at }: Closed, before?: CallState): Approvals {
  const decided = before && 'leave' in before && before.leave?.by === 'decision' ? before.leave : undefined;
  const closed = new Map(calls.closed).set(callId, { cause, standing: standing ?? decided?.standing });
  const closings = cause === undefined ? calls.closings : new Map(calls.closings).set(callId, cause);
  const noted = { ...calls, closed, closings };
  if (before?.phase !== 'question' || before.call.askedBy === undefined) return noted;
  const by = calls.calls.get(before.call.askedBy);
  if (by?.phase !== 'running') return noted;
  const { questions, leftMs } = askedOf(by);
  return put(noted, { ...by, asked: { questions, leftMs: leftMs - (at - before.since) } });
}

function done(state: CallState, { result, contentDigest, said }: Closed): DoneCall {
  return { ...headOf(state), phase: 'done', result, leave: leaveOf(state), contentDigest, said };
}

/** Keeps three records apart: what the model proposed, what a person approved, and what runs. */
function edited(
  state: RequestCall,
  { arguments: effective, digest, approver, reason, isPrepared }: Edited,
): RequestCall | PreparingCall {
  const { call } = state;
  const next: RequestCall = {
    ...state,
    proposed: state.proposed ?? call.proposed ?? call.arguments,
    effective,
    effectiveDigest: digest,
    // Without a preview, a person sees only the arguments. With a preview, the new preview changes the digest.
    seenDigest: seenDigestOf({ argsDigest: digest }),
    edit: { approver, reason },
    editors: [...(state.editors ?? []), approver],
  };
  return isPrepared ? { ...next, phase: 'preparing', editBefore: state.edit } : next;
}

/**
 * A call that was prepared anew is a request again. If the new arguments could not be prepared, it has the old arguments
 * and a note that says why. If asking again failed, the request stays as it was, with its votes and its time.
 */
function prepared(
  state: PreparingCall,
  { prepared: call, at }: Extract<CallEvent, { type: 'prepared' }>,
): RequestCall {
  const { renewedBy, editBefore, since, deadline } = state;
  const head = headOf(state);
  const old = state.call;
  if (isValidCall(call)) {
    const authority = (renewedBy === undefined ? joinedAuthority : renewedAuthority)(old, call);
    // It stays a request, whatever the policy says, because a person edited it.
    const asked: ValidCall = { ...call, kind: 'ask', ...defined({ authority }) };
    const shown = { effective: call.arguments, effectiveDigest: call.argsDigest };
    const fresh = { votes: [], isEscalated: undefined, note: undefined, call: asked, ...shown };
    return requestAgain(head, fresh, at);
  }
  if (renewedBy !== undefined)
    return {
      ...head,
      phase: 'request',
      since,
      deadline,
      note: `it was not asked again: ${whyInvalid(call)}`,
    };
  const { arguments: effective, argsDigest: effectiveDigest } = old;
  const note = `the edit could not be previewed: ${whyInvalid(call)}`;
  return requestAgain(head, { effective, effectiveDigest, note, edit: editBefore }, at);
}

/** The request that a call becomes, with its whole time to decide. */
function requestAgain(head: CallBasics, changes: Partial<CallBasics>, at: number): RequestCall {
  const next = { ...head, ...changes };
  const deadline = deadlineOf(next.call, at);
  return { ...next, phase: 'request', seenDigest: seenDigestOf(next.call), since: at, deadline };
}

function allowed(
  state: CallState,
  { decision, standing, isOld, runsAgain }: Extract<CallEvent, { type: 'allowed' }>,
): CallState {
  const isNext = runsAgain === true && state.phase === 'in_doubt';
  if (!isNext && (runsAgain === true || state.phase !== 'request')) return state;
  const generation = isNext ? state.generation + 1 : state.generation;
  const given: Leave = { by: 'decision', decision, generation, standing, isOld };
  const note = isNext ? state.note : undefined;
  return { ...headOf(state), generation, note, phase: 'ready', leave: given };
}

/**
 * The call waits for another decision. Votes that were not struck out stay, so nobody has to vote twice because
 * somebody else's vote was forged. New arguments that came with the decision are dropped. The arguments of an edit that
 * became the request stay, because the request shows them.
 */
function voided(
  state: CallState,
  { said: { struck, authority, askAgain: note, mayHaveRun }, at }: Extract<CallEvent, { type: 'voided' }>,
): RequestCall {
  const head = headOf(state);
  const votes = struck === undefined ? [] : head.votes.filter(({ voter }) => !struck.includes(voter));
  const joined = authority && joinedAuthority(head.call, { authority });
  const call: ValidCall =
    authority === undefined ? head.call : { ...head.call, kind: 'ask', ...defined({ authority: joined }) };
  const { arguments: effective, argsDigest: effectiveDigest } = call;
  const undone = head.effectiveDigest === effectiveDigest ? {} : { edit: undefined, proposed: undefined };
  const changes = {
    ...undone,
    call,
    votes,
    voided: head.voided + 1,
    note,
    mayHaveRun: mayHaveRun ?? head.mayHaveRun,
    effective,
    effectiveDigest,
  };
  return requestAgain(head, changes, at);
}

/**
 * A request that looks the same as on the other build keeps its time. One that looks different has its whole time, and
 * takes only an approval with the digest of what its sender saw.
 */
function takenUp(
  state: RequestCall | QuestionCall,
  { seenDigest, since, deadline, isOther }: MovedCall,
): RequestCall | QuestionCall {
  return state.seenDigest === seenDigest
    ? { ...state, since, deadline, isOther }
    : { ...state, isOther: true };
}

/**
 * The authority of a call that an admin asked about anew. Only today's rule holds. The people who asked for the turn
 * before still count as requesters.
 */
function renewedAuthority(
  before: { authority?: Authority },
  now: { authority?: Authority },
): Authority | undefined {
  if (before.authority === undefined || now.authority === undefined) return now.authority;
  const requesters = [...new Set([...before.authority.requesters, ...now.authority.requesters])];
  return { ...now.authority, requesters };
}
