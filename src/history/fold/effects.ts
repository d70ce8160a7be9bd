import { denied, didNot, happened } from '../../contract/endings';
import type { DecisionMade, Resolved, TurnEvent } from '../events';
import type { CallFold, FoldState } from './state';

/**
 * Tells a judged decision or resolution and applies what it does to its call. One that comes by both doors, because
 * no worker answered the first, is told once.
 */
export function tell(state: FoldState, event: DecisionMade | Resolved): TurnEvent[] {
  if (event.judgement.accepted === true && event.decisionId !== undefined) {
    if (state.taken.has(event.decisionId)) return [];
    state.taken.add(event.decisionId);
  }
  if (event.type === 'decision') applyDecision(state, event);
  else applyResolution(state, event);
  return [event];
}

function applyDecision(state: FoldState, event: DecisionMade): void {
  const held = state.calls.get(event.callId);
  if (event.judgement.accepted !== true || held?.phase !== 'requested') return;
  if (event.arguments !== undefined) held.effective = event.arguments;
  if (isDenial(event)) deny(held, event);
  else if (asksAgain(held, event)) askAgain(held);
  else {
    held.phase = 'decided';
    held.approved = true;
  }
}

/** Whether nothing may run by it: accepting no hunk is a denial. */
export function isDenial({ decision, hunks }: Pick<DecisionMade, 'decision' | 'hunks'>): boolean {
  return decision === 'denied' || hunks?.length === 0;
}

function asksAgain({ call }: CallFold, event: DecisionMade): boolean {
  return (
    event.asksAgain ??
    (event.decision === 'modified' && call.kind === 'ask' && call.preview?.plan !== undefined)
  );
}

function askAgain(held: CallFold): void {
  if (held.call.kind === 'ask') held.original ??= held.call.proposed ?? held.call.arguments;
  held.phase = 'replanning';
  held.planned = false;
}

function deny(held: CallFold, { approver, reason }: DecisionMade): void {
  held.phase = 'closed';
  held.fate = denied({ approver, reason });
}

function applyResolution(state: FoldState, event: Resolved): void {
  const held = state.calls.get(event.callId);
  if (event.judgement.accepted !== true || held?.phase !== 'lost') return;
  held.phase = event.resolution === 'run-again' ? 'decided' : 'closed';
  if (event.resolution === 'run-again') {
    held.approved = true;
    return;
  }
  held.fate = event.resolution === 'happened' ? { content: happened(event, event.content) } : didNot(event);
}
