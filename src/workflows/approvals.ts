import type { SignalVerdict } from '../contract/decision';
import type { OpenMemo } from '../contract/turn';
import { type LifeCommand, decide } from '../lifecycle/decide';
import { apply } from '../lifecycle/events';
import type { Decided } from '../lifecycle/messages';
import type { Approvals, CallState } from '../lifecycle/state';

/** The state that decisions and other messages are about. A turn has one, and so does a gate in another workflow. */
export interface ApprovalContext {
  approvals: Approvals;
  /** A call's key is `<stepKey>:<callId>`, for all calls that are open at the same time. */
  stepKey: string;
  /** See `OpenMemo`. Absent in a gate. */
  by?: OpenMemo['by'];
  signalVerdicts: SignalVerdict[];
  /** The number of signals that have had a verdict so far. */
  signalCount: number;
  /** Decisions and resolutions by signal that are not judged yet. */
  signalsWaiting: number;
  /** Grows with each change to which the workflow has to react. */
  revision: number;
}

/** Makes the workflow look again. */
export function markChanged(context: ApprovalContext): void {
  context.revision += 1;
}

/** Carries out a command, unless it is refused. Nothing else changes the state of calls. */
export function act(context: ApprovalContext, command: LifeCommand): Decided {
  const decided = decide(context.approvals, command, Date.now());
  if (decided.refused !== undefined || decided.events.length === 0) return decided;
  const next = decided.events.reduce(apply, context.approvals);
  if (next !== context.approvals) markChanged(context);
  context.approvals = next;
  return decided;
}

/** An open call as it is now. */
export function callIn({ approvals }: ApprovalContext, callId: string): CallState {
  const state = approvals.calls.get(callId);
  if (state === undefined) throw new Error(`call ${callId} is not open`);
  return state;
}
