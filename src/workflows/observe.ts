import { proxySinks, workflowInfo } from '@temporalio/workflow';
import type { ObservedFact, ObserveSinks, WaitEnd } from '../activities/observed';
import type { PreparedCall, TurnOrigin } from '../contract/call';
import { type Approvals, type CallState, decisionOf, isOpen } from '../lifecycle/state';

const { countersign } = proxySinks<ObserveSinks>();

/** Reports facts to the worker. In a replay nothing is sent, because the facts were reported before. */
export function report(...facts: ObservedFact[]): void {
  if (facts.length > 0 && !workflowInfo().unsafe.isReplaying) countersign.observe(...facts);
}

/** The facts that were reported about one call. */
interface Reported {
  /** Since when the call has waited for a person, in ms. Undefined while it does not wait. */
  since?: number;
  isDoubted?: boolean;
  isDone?: boolean;
}

/** Reports what changes in the calls of each step. It decides nothing and leads to no Temporal command. */
export class StepObserver {
  private readonly reported = new Map<string, Reported>();

  constructor(
    private readonly turn: { readonly agent: string; readonly approvals: Approvals; origin?: TurnOrigin },
  ) {}

  /**
   * Called when the calls of a step are open. `isMoved`: the step comes from another build, which has reported the calls
   * that had ended by then.
   */
  begin(calls: readonly PreparedCall[], isMoved: boolean): void {
    this.reported.clear();
    if (isMoved) {
      for (const [callId, { phase }] of this.turn.approvals.calls)
        if (phase === 'done') this.reported.set(callId, { isDone: true });
    } else {
      for (const call of calls) if (call.kind === 'invalid') this.reportInvalid(call);
    }
    this.look();
  }

  /** Reports what is new since the last call of this method. */
  look(): void {
    for (const state of this.turn.approvals.calls.values()) {
      const known = this.reported.get(state.call.callId) ?? {};
      this.reported.set(state.call.callId, known);
      this.lookAtWait(state, known);
      this.lookAtEnd(state, known);
    }
  }

  private lookAtWait(state: CallState, known: Reported) {
    if (isOpen(state) || state.phase === 'preparing') {
      known.since ??= state.since;
      return;
    }
    const { since } = known;
    if (since === undefined) return;
    known.since = undefined;
    const times = { since, at: Date.now() };
    const end = { outcome: this.endOf(state), isEdited: state.edit !== undefined };
    const votes = { votes: state.votes.length || undefined };
    report({ kind: 'waited', ...this.callOf(state), ...times, ...end, ...votes });
  }

  private lookAtEnd(state: CallState, known: Reported) {
    const isDoubted = state.phase === 'in_doubt';
    if (isDoubted && known.isDoubted !== true)
      report({ kind: 'doubted', ...this.callOf(state), at: Date.now() });
    known.isDoubted = isDoubted;
    // A question of a running call is a part of that call.
    if (state.phase !== 'done' || known.isDone === true || state.call.askedBy !== undefined) return;
    known.isDone = true;
    const outcome = state.result.error?.code ?? 'success';
    report({ kind: 'ended', ...this.callOf(state), outcome, at: Date.now() });
  }

  private reportInvalid({ tool, callId, result }: Extract<PreparedCall, { kind: 'invalid' }>) {
    const outcome = result.error?.code ?? 'success';
    const of = { agent: this.turn.agent, tool, callId, ...this.origin() };
    report({ kind: 'ended', ...of, outcome, at: Date.now() });
  }

  private endOf(state: CallState): WaitEnd {
    const by = decisionOf(state);
    if (by !== undefined) return by.decision.decision;
    const { cause, standing } = this.turn.approvals.closed.get(state.call.callId) ?? {};
    if (cause === 'expired' || cause === 'unanswered') return 'expired';
    if (cause === 'withdrawn' || cause === 'askerWithdrew') return 'withdrawn';
    if (cause !== undefined) return 'cancelled';
    if (state.call.question !== undefined) return 'answered';
    return standing?.decision === 'denied' ? 'denied' : 'approved';
  }

  private callOf({ call: { tool, callId }, callKey }: CallState) {
    return { agent: this.turn.agent, tool, callId, callKey, ...this.origin() };
  }

  private origin() {
    return { trace: this.turn.origin?.trace };
  }
}
