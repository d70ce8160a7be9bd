import {
  type Accepted,
  asksAgainAfterEdit,
  type Decision,
  isApproval,
  isDenial,
  type RefusalCode,
  type Refused,
  REQUEST_EXPIRED,
  voteOf,
} from '../contract/decision';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { checkSchema, withDefaults } from '../contract/schema/schema';
import { utf8Bytes } from '../contract/text/bytes';
import type { Issue } from '../contract/tool';
import { describeIssues } from '../contract/read-json';
import { type CallEvent, type Edited, evolve } from './events';
import {
  accepted,
  alreadyDecided,
  checkMessage,
  type Decided,
  type Fresh,
  isTooLate,
  parseDecision,
  readNew,
  refuse,
  type ReceivedMessage,
} from './messages';
import { failureOf } from './results';
import {
  type Approvals,
  type CallBasics,
  type CallState,
  type FinalDecision,
  type RequestCall,
  standingOf,
} from './state';
import type { SpentDecision } from '../contract/call';
import { denied } from '../contract/call-texts';
import { approvalsIn, castVote, checkVote, withdrawVote } from './votes';
import { SOMEBODY, type Vote } from '../contract/authority';

/**
 * What a decision leads to at workflow time `now` (ms). The first valid decision wins. At or after the deadline it is
 * `expired`, even if the timer has not fired yet: we fail closed. Only here can a person make a request ready or deny it.
 */
export function decideDecision(calls: Approvals, said: ReceivedMessage, now: number): Decided {
  const read = readNew(calls, parseDecision(said.message), { ...said, now });
  if ('decided' in read) return read.decided;
  const { message, fresh } = read;
  const { callId } = message;
  const state = calls.calls.get(callId);
  const late = checkPhase(calls, message, { state, now });
  if (late !== undefined) return { refused: late };
  if (state?.phase !== 'request')
    return {
      refused: refuse('unknown_call', `no call ${callId} of this turn waits for a decision`, message),
    };
  const decision = asItRuns(calls, message, state);
  const unfit =
    checkMessage(decision, state) ?? checkSeen(decision, state) ?? checkVote(state, decision, now);
  if (unfit !== undefined) return { refused: unfit };
  if (decision.arguments === undefined) return taken(state, decision, fresh);
  const issues = checkArguments(calls, decision.arguments, state);
  if (issues.length > 0) return { refused: misfit(decision, issues), isChecked: true };
  return { ...taken(state, decision, fresh), isChecked: true };
}

/**
 * Fills in the defaults of the schema. A person approves them together with the arguments, so they are on record before
 * the call runs.
 */
export function asItRuns<D extends Pick<Decision, 'arguments'>>(
  { schemas }: Approvals,
  decision: D,
  { call }: CallBasics,
): D {
  if (decision.arguments === undefined) return decision;
  return { ...decision, arguments: withDefaults(schemas.get(call.toolDigest), decision.arguments) };
}

function checkPhase(
  approvals: Approvals,
  decision: Decision,
  { state, now }: { state: CallState | undefined; now: number },
): Refused | undefined {
  const closed = approvals.closed.get(decision.callId);
  if (state?.phase === 'question')
    return refuse(
      'malformed',
      `call ${decision.callId} is a question: it is answered, not decided`,
      decision,
    );
  if (closed?.cause === 'expired' || closed?.cause === 'unanswered') return expired(decision);
  const isTakenBack = closed?.cause === 'neverStarted' || closed?.cause === 'withdrawn';
  if (isTakenBack || (approvals.cancelled && state?.phase === 'request')) {
    return refuse('cancelled', 'the turn was cancelled before this decision came', decision);
  }
  if (state?.phase === 'request') {
    return isTooLate(state, now) ? expired(decision) : undefined;
  }
  const standing = standingOf(approvals, decision.callId);
  return standing === undefined ? undefined : alreadyDecided(standing, decision);
}

function expired(decision: Decision): Refused {
  return refuse('expired', REQUEST_EXPIRED, decision);
}

function checkSeen(decision: Decision, state: CallBasics): Refused | undefined {
  if (decision.seenDigest !== undefined && decision.seenDigest !== state.seenDigest) {
    return refuse('stale_args', 'this request changed since you looked; look again', decision);
  }
  if (decision.seenDigest === undefined && state.isOther === true && isApproval(decision)) {
    const message = 'this request changed with a deploy; look again, and send its seenDigest';
    return refuse('stale_args', message, decision);
  }
  if (decision.hunks === undefined) return undefined;
  const { hunks = [] } = state.call.preview?.plan ?? {};
  if (hunks.length === 0) {
    return refuse('malformed', 'this call has no hunks to choose from', decision);
  }
  const known = new Set(hunks.map((hunk) => hunk.id));
  const unknown = decision.hunks.filter((hunk) => !known.has(hunk));
  if (unknown.length === 0) return undefined;
  return refuse('malformed', `no hunk ${unknown.join(', ')}; there are ${[...known].join(', ')}`, decision);
}

function misfit(decision: Decision, issues: Issue[]): Refused {
  const code: RefusalCode = 'validation';
  return { ...refuse(code, `the new arguments do not fit: ${describeIssues(issues)}`, decision), issues };
}

function checkArguments({ schemas }: Approvals, args: JsonObject, { call }: CallBasics): Issue[] {
  if (utf8Bytes(JSON.stringify(args)) > LIMITS.argumentsBytes) {
    return [{ path: '', message: `over ${LIMITS.argumentsBytes} bytes` }];
  }
  const schema = schemas.get(call.toolDigest);
  if (schema !== undefined) return checkSchema(schema, args);
  return [{ path: '', message: 'the tool has no schema to check them against' }];
}

function taken(state: RequestCall, decision: Decision, fresh: Fresh) {
  const { callId, approver = SOMEBODY, reason, suggestion = reason } = decision;
  const standing: FinalDecision = {
    decision: voteOf(decision) ?? decision.decision,
    approver,
    at: new Date(fresh.now).toISOString(),
  };
  const decisionId = fresh.id();
  const { events, needs, asksAgain } = effectOf(state, { decision, standing, decisionId }, fresh);
  const verdict = {
    decisionId,
    callId,
    decision: decision.decision,
    approver,
    at: standing.at,
    asksAgain,
    unbound: isApproval(decision) && decision.seenDigest === undefined ? (true as const) : undefined,
    needs,
  };
  // The model reads no reason of somebody who takes a vote back, or who asks again.
  const words = decision.arguments ?? (voteOf(decision) && suggestion);
  return accepted(events, verdict, { digest: fresh.digest, words });
}

/** What a decision does to its call. `needs`: the votes that are still needed. Absent: the decision is final. */
interface Effect {
  events: CallEvent[];
  needs?: Accepted['needs'];
  asksAgain?: true;
}

interface By {
  decision: Omit<Decision, 'decisionId'>;
  standing: FinalDecision;
  decisionId: string;
}

/** Applies a decision or, if rules say who decides, counts it as a vote. */
function effectOf(state: RequestCall, by: By, fresh: Fresh): Effect {
  const { decision, decisionId } = by;
  const { now } = fresh;
  const isEdit = decision.decision === 'modified' && asksAgainAfterEdit(state.call);
  if (isEdit || decision.decision === 'ask-again') return { events: askedAgain(state, by), asksAgain: true };
  if (decision.decision === 'withdrawn') {
    const { event, needs } = withdrawVote(state, decision, now);
    return { events: [event], needs };
  }
  const word = voteOf(decision);
  const cast = word && castVote(state, { ...decision, decision: word, decisionId }, now);
  const voted = cast === undefined ? [] : [cast.event];
  // If a vote was struck out, or the request was escalated, the other votes may be enough by themselves. A vote
  // decides a call only in its own sense, so a denial never lets a call run.
  if (cast !== undefined && cast.state !== word) return { events: voted, needs: cast.needs };
  return { events: [...voted, ...settled(state, by, { ...fresh, votes: cast?.votes })] };
}

/** The call is prepared anew, and then people are asked again. */
export function askedAgain(state: RequestCall, by: By): CallEvent[] {
  const { callId, decision } = by.decision;
  // The worker checks whether the admin may ask for this under today's rules. Until then the votes stay.
  return [
    decision === 'ask-again'
      ? { type: 'renewed', callId, by: by.standing.approver }
      : editOf(state, by, true),
  ];
}

/** When a message settled its call. `votes`: the votes that did. Undefined: no rule says who decides. */
export interface Settled extends Pick<Fresh, 'isOld' | 'now'> {
  votes: readonly Vote[] | undefined;
}

/** The end of a request by its last decision: a denial, or leave to run. */
export function settled(before: RequestCall, by: By, { now, isOld, votes: all }: Settled): CallEvent[] {
  const { decision, decisionId } = by;
  const { callId, reason, suggestion, hunks } = decision;
  if (isDenial(decision)) {
    const { standing } = by;
    const result = failureOf(before, denied({ approver: standing.approver, reason, suggestion }), now);
    return [{ type: 'closed', callId, result, standing, at: now }];
  }
  const edits = decision.arguments === undefined ? [] : [editOf(before, by, false)];
  const { votes, approver = by.standing.approver } = all === undefined ? {} : approvalsIn(all);
  const said = { decisionId, approver, reason, hunks, votes };
  const spent = decisionFor(edits.reduce<CallState>(evolve, before), said);
  const standing = { ...by.standing, approver };
  return [...edits, { type: 'allowed', callId, decision: spent, standing, isOld }];
}

/** The decision that a message gives a call. It allows only the request as it is now. */
export function decisionFor(
  { call, edit, seenDigest }: CallBasics,
  said: Pick<SpentDecision, 'decisionId' | 'approver'> & {
    [K in 'reason' | 'hunks' | 'votes']: SpentDecision[K] | undefined;
  },
): SpentDecision {
  const { decisionId, approver, reason, hunks, votes } = said;
  const decision = edit === undefined ? 'approved' : 'modified';
  const { previewDigest } = call;
  return { decisionId, decision, approver, seenDigest, previewDigest, reason, hunks, edit, votes };
}

/** `isPrepared`: the old preview shows the old arguments, so nobody can approve the call before it has a new one. */
function editOf(state: CallBasics, { decision, standing: { approver } }: By, isPrepared: boolean): Edited {
  const { callId, arguments: args = state.effective, reason } = decision;
  return {
    type: 'edited',
    callId,
    arguments: args,
    digest: digestJson(args),
    approver,
    isPrepared,
    reason,
  };
}
