import type { Accepted, Refused, Resolution } from '../../contract/decision';
import { didNot, happened } from '../../contract/endings';
import { LIMITS } from '../../contract/limits';
import { utf8Bytes } from '../../contract/transcript';
import { closeCall, failureOf, successOf } from './close';
import { digestOf } from './judge-decision';
import { parseResolution } from './parse';
import { refuse, repeatOf } from './refuse';
import type { Approvals, CallState, SpentId } from './state';
import type { TakenAt } from './take-decision';

/** A resolution that would be taken, a repeat of one that was, or a refusal. */
export type JudgedResolution =
  | { kind: 'take'; resolution: Resolution; state: CallState; contentDigest: string }
  | { kind: 'repeat'; spent: SpentId }
  | { kind: 'refuse'; refused: Refused };

/** Judges what a person says of a call in doubt. A call in doubt does not expire. */
export function judgeResolution(approvals: Approvals, message: unknown): JudgedResolution {
  const parsed = parseResolution(message);
  if (!parsed.ok) return { kind: 'refuse', refused: refuse('malformed', parsed.message, message) };
  const resolution = parsed.value;
  const contentDigest = digestOf(resolution);
  const repeat = repeatOf(approvals, resolution, contentDigest);
  if (repeat !== undefined) return repeat;
  const state = approvals.calls.get(resolution.callId);
  if (state?.phase !== 'in_doubt')
    return { kind: 'refuse', refused: notInDoubt(approvals, resolution, state) };
  const refused = checkResolution(approvals, resolution, state);
  return refused === undefined
    ? { kind: 'take', resolution, state, contentDigest }
    : { kind: 'refuse', refused };
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

function checkResolution(
  approvals: Approvals,
  resolution: Resolution,
  state: CallState,
): Refused | undefined {
  if (resolution.callKey !== undefined && resolution.callKey !== state.callKey) {
    return refuse('stale_args', 'this call was asked anew since you looked; look again', resolution);
  }
  if (approvals.cancelled && resolution.resolution === 'run-again') {
    return refuse('cancelled', 'the turn was cancelled; a call of it cannot run again', resolution);
  }
  if (utf8Bytes(resolution.reason ?? '') > LIMITS.reasonBytes) {
    return refuse('malformed', `the reason is over ${LIMITS.reasonBytes} bytes`, resolution);
  }
  return undefined;
}

/** Takes a judged resolution: the only way a call in doubt ends by a person. */
export function takeResolution(
  approvals: Approvals,
  taken: Extract<JudgedResolution, { kind: 'take' }>,
  at: TakenAt,
): Accepted {
  const { resolution, state } = taken;
  const approver = resolution.approver ?? 'somebody';
  const iso = new Date(at.now).toISOString();
  state.standing = { decision: resolution.resolution, approver, at: iso };
  if (resolution.resolution === 'run-again') runAgain(state, resolution, at);
  else closeCall(approvals, state, { why: 'decided', result: resolvedResult(state, resolution, at.now) });
  const verdict: Accepted = {
    accepted: true,
    decisionId: at.decisionId,
    callId: resolution.callId,
    decision: resolution.resolution,
    approver,
    at: iso,
  };
  approvals.verdicts.set(at.decisionId, { digest: taken.contentDigest, verdict });
  return verdict;
}

function resolvedResult(state: CallState, resolution: Resolution, now: number) {
  const said = { approver: resolution.approver ?? 'somebody', reason: resolution.reason };
  if (resolution.resolution === 'did-not') return failureOf(state, didNot(said), now);
  return successOf(state, happened(said, resolution.content), now);
}

/** A new decision for a new generation: the idempotency key changes, the call does not. */
function runAgain(state: CallState, resolution: Resolution, at: TakenAt): void {
  state.generation += 1;
  state.gated = true;
  state.phase = 'ready';
  delete state.doubt;
  delete state.reported;
  state.held = {
    decisionId: at.decisionId,
    decision: state.edit === undefined ? 'approved' : 'modified',
    approver: resolution.approver ?? 'somebody',
    argsDigest: state.effectiveDigest,
    generation: state.generation,
    spent: false,
    ...(resolution.reason === undefined ? {} : { reason: resolution.reason }),
    ...(state.held?.hunks === undefined ? {} : { hunks: state.held.hunks }),
    ...(state.edit === undefined ? {} : { edit: state.edit }),
  };
}
