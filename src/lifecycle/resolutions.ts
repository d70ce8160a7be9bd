import { type Accepted, noCall, type Refused, type Resolution } from '../contract/decision';
import { didNot, happened } from '../contract/call-texts';
import { decisionFor } from './decisions';
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
    'not_in_doubt',
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
      : { events: [closed(state, resolution, fresh.now)], needs: undefined };
  const verdict = { decisionId, callId, decision, approver, at, needs };
  return accepted(events, verdict, { digest: fresh.digest, words: content ?? reason });
}

function closed(state: DoubtedCall, resolution: Resolution, now: number): CallEvent {
  const { callId, resolution: decision, approver = SOMEBODY, reason, content } = resolution;
  const by = { approver, reason };
  const result =
    decision === 'did-not' ? failureOf(state, didNot(by), now) : successOf(state, happened(by, content), now);
  const standing = { decision, approver, at: new Date(now).toISOString() };
  return { type: 'closed', callId, result, standing, at: now };
}

/**
 * Counts the vote for another run, which needs the same approvals as the first run. With enough of them it counts as a
 * new decision for a new generation: the idempotency key changes, the call does not.
 */
function runAgain(
  state: DoubtedCall,
  { callId, approver, reason, signature }: Resolution & { approver: string },
  { fresh: { now, isOld }, decisionId }: { fresh: Fresh; decisionId: string },
): { events: CallEvent[]; needs: Accepted['needs'] } {
  const { seenDigest } = state;
  const hunks = decisionOf(state)?.decision.hunks;
  const ballot = { callId, approver, reason, signature, seenDigest, hunks, decisionId };
  const cast = castVote(state, { ...ballot, decision: 'approved', runsAgain: true }, now);
  const voted = cast === undefined ? [] : [cast.event];
  if (cast !== undefined && cast.state !== 'approved') return { events: voted, needs: cast.needs };
  const by = cast === undefined ? { approver, votes: undefined } : approvalsIn(cast.votes);
  const decision = decisionFor(state, { decisionId, reason, hunks, ...by });
  const standing = { decision: 'run-again', approver: by.approver, at: new Date(now).toISOString() };
  const allowed = { type: 'allowed' as const, callId, decision, standing, isOld, runsAgain: true as const };
  return { events: [...voted, allowed], needs: undefined };
}
