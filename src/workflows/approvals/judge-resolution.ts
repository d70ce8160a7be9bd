import { type Accepted, noCall, type Refused, type Resolution } from '../../contract/decision';
import { didNot, happened } from '../../contract/call-texts';
import { closeCall, failureOf, successOf } from './transitions';
import { isCancelled } from './doubts';
import { unspentDecision } from './judge-decision';
import {
  accept,
  checkMessage,
  type Judged,
  parseResolution,
  readNew,
  refusal,
  refuse,
  type TakenAt,
} from './messages';
import type { Approvals, CallState } from './state';
import { approvalsIn, castVote, checkAllowed } from './votes';
import { SOMEBODY } from '../../contract/authority';

/** Judges a resolution from any sender. A call in doubt does not expire. */
export function judgeResolution(approvals: Approvals, message: unknown, now: number): Judged<Resolution> {
  const read = readNew(approvals, parseResolution(message), message);
  if (read.kind !== 'new') return read;
  const { message: resolution, contentDigest } = read;
  const state = approvals.calls.get(resolution.callId);
  if (state?.phase !== 'in_doubt') return refusal(notInDoubt(approvals, resolution, state));
  const refused =
    checkMessage(resolution, state) ??
    checkGeneration(resolution, state) ??
    checkCancelled(approvals, resolution, state) ??
    checkAllowed(state, resolution, now);
  return refused === undefined
    ? { kind: 'take', message: resolution, state, contentDigest }
    : refusal(refused);
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
function checkGeneration(resolution: Resolution, { generation }: CallState): Refused | undefined {
  if ((resolution.generation ?? generation) === generation) return undefined;
  return refuse('stale_args', 'this call was started again since you looked; look again', resolution);
}

function checkCancelled(approvals: Approvals, resolution: Resolution, state: CallState): Refused | undefined {
  if (!isCancelled(approvals, state) || resolution.resolution !== 'run-again') return undefined;
  return refuse('cancelled', 'the turn was cancelled; a call of it cannot run again', resolution);
}

/** Takes a judged resolution. Only here can a person end a doubt. */
export function takeResolution(
  approvals: Approvals,
  { message: resolution, state, contentDigest }: Extract<Judged<Resolution>, { kind: 'take' }>,
  at: TakenAt,
): Accepted {
  const approver = resolution.approver ?? SOMEBODY;
  const iso = new Date(at.now).toISOString();
  const { callId, resolution: decision } = resolution;
  const needs = decision === 'run-again' ? voteForAnother(state, resolution, at) : undefined;
  if (needs === undefined) {
    const by = decision === 'run-again' ? approversOf(state, approver) : approver;
    state.standing = { decision, approver: by, at: iso };
    if (decision === 'run-again') runAgain(state, { ...resolution, approver: by }, at);
    else closeCall(approvals, state, { result: resolvedResult(state, resolution, at.now) });
  }
  const verdict = { decisionId: at.decisionId, callId, decision, approver, at: iso, needs };
  const words = resolution.content ?? resolution.reason;
  return accept(approvals, verdict, { contentDigest, words });
}

/**
 * Counts the vote for another run, which needs the same approvals as the first run. Returns the votes that are still
 * needed. Undefined: the call may run.
 */
function voteForAnother(
  state: CallState,
  { approver, callId, reason, signature }: Resolution,
  at: TakenAt,
): Accepted['needs'] {
  const { seenDigest, held } = state;
  const said = { approver, callId, reason, seenDigest, hunks: held?.hunks, signature };
  const ballot = { ...said, decision: 'approved' as const, runsAgain: true as const };
  const cast = castVote(state, ballot, at);
  return cast === undefined || cast.state === 'approved' ? undefined : cast.needs;
}

function approversOf({ votes }: CallState, approver: string): string {
  return votes === undefined ? approver : approvalsIn(votes).approver;
}

function resolvedResult(state: CallState, resolution: Resolution, now: number) {
  const said = { approver: resolution.approver ?? SOMEBODY, reason: resolution.reason };
  if (resolution.resolution === 'did-not') return failureOf(state, didNot(said), now);
  return successOf(state, happened(said, resolution.content), now);
}

/** A resolution counts as a new decision for a new generation: the idempotency key changes, the call does not. */
function runAgain(state: CallState, resolution: Resolution, at: TakenAt): void {
  state.generation += 1;
  state.needsDecision = true;
  state.phase = 'ready';
  delete state.doubt;
  delete state.reported;
  state.held = unspentDecision(state, {
    decisionId: at.decisionId,
    approver: resolution.approver ?? SOMEBODY,
    reason: resolution.reason,
    hunks: state.held?.hunks,
    votes: state.votes && approvalsIn(state.votes).votes,
  });
}
