import { type AskAgain, type InDoubt, isAskable } from '../contract/call';
import { type ClosingCause, ENDINGS } from '../contract/call-texts';
import type { ToolResult } from '../contract/result';
import type { UsedState } from '../contract/tool';
import type { LifeEvent } from './events';
import { type Decided, refuse } from './messages';
import { failureOf } from './results';
import { type Approvals, type CallState, decisionOf, type AllowedCall, type RunningCall } from './state';

/**
 * How the activity of a call ended, or what its failure means. `contentDigest` is set only if an activity made the
 * result. `cause` is set only if no event of the activity shows it.
 */
export type Settlement =
  | ({ result: ToolResult; contentDigest?: string; cause?: ClosingCause } & UsedState)
  | ({ inDoubt: InDoubt } & UsedState)
  | AskAgain;

/**
 * Starts a ready call and spends its decision. It is refused if a call needs a decision and has none that allows this
 * start: one for this generation, and for exactly what was seen. This is the last line of defence: it refuses only if
 * this folder has a bug.
 */
export function decideStart(calls: Approvals, callId: string, secret: string | undefined): Decided {
  const state = calls.calls.get(callId);
  const message = { callId };
  if (state?.phase !== 'ready')
    return {
      refused: refuse('not_allowed', `call ${callId} is ${state?.phase ?? 'not open'}, not ready`, message),
    };
  if (!isAllowed(state))
    return {
      refused: refuse('not_allowed', `call ${callId} has no unspent decision that matches it`, message),
    };
  return { events: [{ type: 'started', callId, secret }] };
}

function isAllowed({ leave, call, generation, seenDigest, voided }: AllowedCall): boolean {
  if (leave.by === 'decision')
    return leave.decision.seenDigest === seenDigest && leave.generation === generation;
  const needsNone = leave.by === 'grant' || call.kind === 'run';
  return needsNone && call.question === undefined && generation === 0 && voided === 0;
}

/** What the end of a call's activity means, at workflow time `now` (ms). */
export function settle(calls: Approvals, callId: string, settlement: Settlement, now: number): LifeEvent[] {
  const state = calls.calls.get(callId);
  if (state?.phase !== 'running') return [];
  if ('inDoubt' in settlement && state.reported !== undefined)
    return [{ type: 'closed', callId, cause: 'proven', result: state.reported, at: now }];
  if ('result' in settlement) {
    const { result, contentDigest, cause } = settlement;
    return [{ type: 'closed', callId, result, contentDigest, cause, at: now }];
  }
  if ('askAgain' in settlement && isAskable(state.call, state.secret, settlement))
    return askAgain(calls, state, { said: settlement, now });
  const doubt = 'askAgain' in settlement ? { message: settlement.askAgain } : settlement.inDoubt;
  return [{ type: 'lost', callId, doubt, at: now }];
}

/**
 * Asks again because the decision does not hold in this run. The call never takes that decision again, and waits for
 * another decision.
 */
function askAgain(
  { cancelled }: Approvals,
  state: RunningCall,
  { said, now }: { said: AskAgain; now: number },
): LifeEvent[] {
  const { callId } = state.call;
  if (cancelled) return [neverStarted({ ...state, mayHaveRun: said.mayHaveRun ?? state.mayHaveRun }, now)];
  return [
    { type: 'verdicts_voided', callId, ids: voidIds(state, said.struck), why: said.askAgain },
    { type: 'voided', callId, said, at: now },
  ];
}

/** The ids of the decisions that do not count: the decision that was held, or the votes of the people in `struck`. */
function voidIds(state: RunningCall, struck: readonly string[] | undefined): string[] {
  const held = decisionOf(state)?.decision;
  if (struck === undefined || held?.votes === undefined) return held === undefined ? [] : [held.decisionId];
  return state.votes.flatMap(({ voter, decisionId }) => (struck.includes(voter) ? decisionId : []));
}

/** The end of a call that never starts, because it was cancelled. */
export function neverStarted(state: CallState, now: number): LifeEvent {
  const result = failureOf(state, ENDINGS.neverStarted, now);
  return { type: 'closed', callId: state.call.callId, cause: 'neverStarted', result, at: now };
}
