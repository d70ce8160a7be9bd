import { type Accepted, noCall, type Refused, type Resolution } from '../contract/decision';
import { didNot, happened } from '../contract/call-texts';
import { decisionFor, type Settled } from './decisions';
import type { CallEvent } from './events';
import {
  accepted,
  checkMessage,
  type Decided,
  type Fresh,
  parseResolution,
  readNew,
  refuse,
  type ReceivedMessage,
} from './messages';
import { failureOf, successOf } from './results';
import {
  type Approvals,
  type CallBasics,
  type CallState,
  decisionOf,
  type DoubtedCall,
  isCancelled,
} from './state';
import { approvalsIn, castVote, checkAllowed } from './votes';
import { SOMEBODY } from '../contract/authority';

/**
 * What a resolution leads to at workflow time `now` (ms). A call in doubt does not expire. Only here can a person end a
 * doubt.
 */
export function decideResolution(calls: Approvals, said: ReceivedMessage, now: number): Decided {
  const read = readNew(calls, parseResolution(said.message), { ...said, now });
  if ('decided' in read) return read.decided;
  const { message: resolution, fresh } = read;
  const state = calls.calls.get(resolution.callId);
  if (state?.phase !== 'in_doubt') return { refused: notInDoubt(calls, resolution, state) };
  const refused =
    checkMessage(resolution, state) ??
    checkGeneration(resolution, state) ??
    checkCancelled(calls, resolution, state) ??
    checkAllowed(state, resolution, now);
  return refused === undefined ? resolved(state, resolution, fresh) : { refused };
}

function notInDoubt(approvals: Approvals, resolution: Resolution, state: CallState | undefined): Refused {
  const closed = approvals.closed.get(resolution.callId);
  if (state === undefined && closed === undefined) {
    return refuse('unknown_call', noCall(resolution.callId), resolution);
  }
  return refuse(
    'already_decided',
    `call ${resolution.callId} is not in doubt; there is nothing to resolve`,
    resolution,
  );
}

/** A person who looked at an earlier start knows nothing about this one. */
function checkGeneration(resolution: Resolution, { generation }: CallBasics): Refused | undefined {
  if ((resolution.generation ?? generation) === generation) return undefined;
  return refuse('stale_args', 'this call was started again since you looked; look again', resolution);
}

function checkCancelled(approvals: Approvals, resolution: Resolution, state: CallState): Refused | undefined {
  if (!isCancelled(approvals, state) || resolution.resolution !== 'run-again') return undefined;
  return refuse('cancelled', 'the turn was cancelled; a call of it cannot run again', resolution);
}

function resolved(state: DoubtedCall, resolution: Resolution, fresh: Fresh) {
  const { callId, resolution: decision, approver = SOMEBODY, content, reason } = resolution;
  const at = new Date(fresh.now).toISOString();
  const decisionId = fresh.id();
  const { events, needs } =
    decision === 'run-again'
      ? runAgain(state, { ...resolution, approver }, { fresh, decisionId })
      : { events: [closedByResolution(state, resolution, fresh.now)], needs: undefined };
  const verdict = { decisionId, callId, decision, approver, at, needs };
  return accepted(events, verdict, { digest: fresh.digest, words: content ?? reason });
}

/** The end of a call in doubt, as a person found it. */
export function closedByResolution(state: DoubtedCall, resolution: Resolution, now: number): CallEvent {
  const { callId, resolution: decision, approver = SOMEBODY, reason, content } = resolution;
  const by = { approver, reason };
  const result =
    decision === 'did-not' ? failureOf(state, didNot(by), now) : successOf(state, happened(by, content), now);
  const standing = { decision, approver, at: new Date(now).toISOString() };
  return { type: 'closed', callId, result, standing, at: now };
}

type Again = Omit<Resolution, 'decisionId'> & { approver: string };

/** Counts the vote for another run, which needs the same approvals as the first run. */
function runAgain(
  state: DoubtedCall,
  resolution: Again,
  { fresh, decisionId }: { fresh: Fresh; decisionId: string },
): { events: CallEvent[]; needs: Accepted['needs'] } {
  const cast = castVote(state, ballotFor(state, resolution, decisionId), fresh.now);
  const voted = cast === undefined ? [] : [cast.event];
  if (cast !== undefined && cast.state !== 'approved') return { events: voted, needs: cast.needs };
  const allowed = allowedAgain(state, resolution, { ...fresh, decisionId, votes: cast?.votes });
  return { events: [...voted, allowed], needs: undefined };
}

/** The vote for another run of what was approved. */
export function ballotFor(
  state: DoubtedCall,
  { callId, approver, reason, signature }: Again,
  decisionId: string,
) {
  const { seenDigest } = state;
  const hunks = decisionOf(state)?.decision.hunks;
  const said = { callId, approver, reason, signature, seenDigest, hunks, decisionId };
  return { ...said, decision: 'approved' as const, runsAgain: true as const };
}

/**
 * A resolution by which a call in doubt runs again counts as a new decision for a new generation: the idempotency key
 * changes, the call does not.
 */
export function allowedAgain(
  state: DoubtedCall,
  { callId, approver, reason }: Again,
  { now, isOld, decisionId, votes }: Settled & { decisionId: string },
): CallEvent {
  const hunks = decisionOf(state)?.decision.hunks;
  const by = votes === undefined ? { approver, votes } : approvalsIn(votes);
  const decision = decisionFor(state, { decisionId, reason, hunks, ...by });
  const standing = { decision: 'run-again', approver: by.approver, at: new Date(now).toISOString() };
  return { type: 'allowed', callId, decision, standing, isOld, runsAgain: true };
}
