import { isDenial } from '../fold/effects';
import type { DecisionMade, Resolved, TurnEvent } from '../events';
import type { CallView, TurnView } from '../view-types';
import { withCall } from './calls';

/** Takes what people say. What concerns no call of the turn is only counted. */
export function viewDecision(view: TurnView, event: TurnEvent): void {
  switch (event.type) {
    case 'decision':
      judged(view, event);
      return onKnown(view, event.callId, (call) => decided(call, event));
    case 'resolved':
      judged(view, event);
      return onKnown(view, event.callId, (call) => resolved(call, event));
    case 'outcome_reported':
      return onKnown(view, event.callId, (call) => void (event.settles || call.late.push(event)));
  }
}

/** Anybody can name any call id; only calls of the turn are shown. */
function onKnown(view: TurnView, callId: string, change: (call: CallView) => void): void {
  if (view.calls.some((call) => call.callId === callId)) withCall(view, { callId }, change);
}

function judged(view: TurnView, event: DecisionMade | Resolved): void {
  if (event.door === 'signal') view.unjudged = Math.max(0, view.unjudged - 1);
}

function decided(call: CallView, event: DecisionMade): void {
  call.decisions.push(event);
  if (event.judgement.accepted !== true || call.phase !== 'requested') return;
  if (event.arguments !== undefined) call.effective = event.arguments;
  if (isDenial(event)) {
    call.phase = 'denied';
    return;
  }
  call.approved = call.effective;
  call.phase = asksAgain(call, event) ? 'replanning' : 'approved';
}

function asksAgain(call: CallView, event: DecisionMade): boolean {
  return event.asksAgain ?? (event.decision === 'modified' && call.request?.preview?.plan !== undefined);
}

function resolved(call: CallView, event: Resolved): void {
  call.resolutions.push(event);
  if (event.judgement.accepted !== true || (call.phase !== 'in_doubt' && call.phase !== 'lost')) return;
  call.phase = event.resolution === 'run-again' ? 'approved' : 'done';
}
