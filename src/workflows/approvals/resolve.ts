import type { Abandonment, Accepted, Refused, Resolution } from '../../contract/decision';
import { didNot, happened, unresolved } from '../../contract/call-messages';
import type { OutcomeReport } from '../../contract/call';
import type { ToolResult } from '../../contract/result';
import { closeCall, failureOf, noted, successOf } from './transitions';
import { defined } from '../../contract/defined';
import { seenIn } from './decide';
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

/** Judges a resolution of any sender. A call in doubt does not expire. */
export function judgeResolution(approvals: Approvals, message: unknown): Judged<Resolution> {
  const read = readNew(approvals, parseResolution(message), message);
  if (read.kind !== 'new') return read;
  const { message: resolution, contentDigest } = read;
  const state = approvals.calls.get(resolution.callId);
  if (state?.phase !== 'in_doubt') return refusal(notInDoubt(approvals, resolution, state));
  const refused =
    checkMessage(resolution, state) ??
    checkCancelled(approvals, resolution, state) ??
    checkAllowed(state, resolution);
  return refused === undefined
    ? { kind: 'take', message: resolution, state, contentDigest }
    : refusal(refused);
}

function notInDoubt(approvals: Approvals, resolution: Resolution, state: CallState | undefined): Refused {
  const closed = approvals.closed.get(resolution.callId);
  if (state === undefined && closed === undefined) {
    return refuse('unknown_call', `there is no call ${resolution.callId} in this turn`, resolution);
  }
  return refuse(
    'not_in_doubt',
    `call ${resolution.callId} is not in doubt; there is nothing to resolve`,
    resolution,
  );
}

function checkCancelled(approvals: Approvals, resolution: Resolution, state: CallState): Refused | undefined {
  if (!isCancelled(approvals, state) || resolution.resolution !== 'run-again') return undefined;
  return refuse('cancelled', 'the turn was cancelled; a call of it cannot run again', resolution);
}

/** Takes a judged resolution. A person ends a doubt only here. */
export function takeResolution(
  approvals: Approvals,
  { message: resolution, state, contentDigest }: Extract<Judged<Resolution>, { kind: 'take' }>,
  at: TakenAt,
): Accepted {
  const approver = resolution.approver ?? 'somebody';
  const iso = new Date(at.now).toISOString();
  const { callId, resolution: decision } = resolution;
  const needs = decision === 'run-again' ? voteForAnother(state, resolution, { ...at, iso }) : undefined;
  if (needs === undefined) {
    const by = decision === 'run-again' ? approversOf(state, approver) : approver;
    state.standing = { decision, approver: by, at: iso };
    if (decision === 'run-again') runAgain(state, { ...resolution, approver: by }, at);
    else closeCall(approvals, state, { result: resolvedResult(state, resolution, at.now) });
  }
  const verdict = { decisionId: at.decisionId, callId, decision, approver, at: iso, ...defined({ needs }) };
  return accept(approvals, verdict, contentDigest);
}

/**
 * A further run needs the same approvals as the first run. Returns what is still missing. Undefined: the call may run.
 */
function voteForAnother(
  state: CallState,
  { approver, inPlaceOf, callId, reason, signature }: Resolution,
  { decisionId, iso }: TakenAt & { iso: string },
): Accepted['needs'] {
  const { seenDigest } = state;
  const said = { approver, inPlaceOf, callId, reason, seenDigest, signature };
  const ballot = { ...said, decision: 'approved' as const, runsAgain: true as const };
  const cast = castVote(state, ballot, { decisionId, iso });
  return cast === undefined || cast.state === 'approved' ? undefined : cast.needs;
}

function approversOf({ votes }: CallState, approver: string): string {
  return votes === undefined ? approver : approvalsIn(votes).approver;
}

function resolvedResult(state: CallState, resolution: Resolution, now: number) {
  const said = { approver: resolution.approver ?? 'somebody', reason: resolution.reason };
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
  state.held = {
    decisionId: at.decisionId,
    decision: state.edit === undefined ? 'approved' : 'modified',
    approver: resolution.approver ?? 'somebody',
    ...seenIn(state),
    generation: state.generation,
    spent: false,
    ...defined({
      reason: resolution.reason,
      hunks: state.held?.hunks,
      edit: state.edit,
      votes: state.votes && approvalsIn(state.votes).votes,
    }),
  };
}

/**
 * Settles a doubt by proof: the answer of `verify`, or a late outcome. False: a person has already resolved the call.
 */
export function settleDoubt(approvals: Approvals, state: CallState, result: ToolResult): boolean {
  if (state.phase !== 'in_doubt') return false;
  closeCall(approvals, state, { cause: 'proven', result: noted(state, result) });
  return true;
}

/**
 * Applies a late outcome to the call with the same key, generation and secret, where that call is in doubt. The outcome
 * may come before the loss of its call is known, since both can be in one workflow task. It is then kept until the loss
 * is known.
 */
export function report(approvals: Approvals, outcome: OutcomeReport): boolean {
  const state = [...approvals.calls.values()].find((one) => one.callKey === outcome.callKey);
  if (state === undefined || state.generation !== outcome.generation) return false;
  if (state.secret === undefined || state.secret !== outcome.secret) return false;
  if (state.phase === 'running') state.reported = outcome.result;
  return settleDoubt(approvals, state, outcome.result);
}

/** Whether a call was cancelled, with its turn or alone. */
export function isCancelled({ cancelled }: Pick<Approvals, 'cancelled'>, state: CallState): boolean {
  return cancelled || state.cancelled === true;
}

/**
 * Takes the word to give up calls in doubt. It does not replace an earlier word whose sender may give up a call that
 * this sender may not.
 */
export function takeAbandonment(approvals: Approvals, abandonment: Abandonment): void {
  const { abandoned: before } = approvals;
  const isLess = (state: CallState): boolean =>
    before !== undefined && whyKept(state, before) === undefined && whyKept(state, abandonment) !== undefined;
  if (![...approvals.calls.values()].some(isLess)) approvals.abandoned = abandonment;
}

/** Why this person may not give up a call, and who may. Undefined: this person may. */
function whyKept(state: CallState, { approver }: Abandonment): string | undefined {
  return checkAllowed(state, { callId: state.call.callId, approver })?.message;
}

/**
 * Ends calls in doubt as unresolved where they were both cancelled and abandoned. Until a call is both, a person can
 * resolve it.
 */
export function sweepAbandoned(approvals: Approvals, now: number): void {
  const { abandoned } = approvals;
  if (abandoned === undefined) return;
  for (const state of approvals.calls.values()) {
    if (state.phase !== 'in_doubt' || !isCancelled(approvals, state)) continue;
    const why = whyKept(state, abandoned);
    if (why !== undefined) state.note = `not given up: ${why}`;
    else
      closeCall(approvals, state, {
        cause: 'abandoned',
        result: failureOf(state, unresolved(abandoned), now),
      });
  }
}
