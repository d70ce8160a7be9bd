import { defined } from '../defined';
import type {
  CallEnded,
  CallStarted,
  InDoubtOpened,
  ProposedCall,
  RequestOpened,
  TurnEvent,
} from '../events';
import type { CallView, TurnView } from '../view-types';

/** Takes what happens to calls, apart from what people say. */
export function viewCall(view: TurnView, event: TurnEvent): void {
  switch (event.type) {
    case 'step':
      view.calls.push(...event.calls.map((call) => callView(call, event.step)));
      return;
    case 'call_prepared':
      return prepared(view, event.call);
    case 'request_opened':
      return withCall(view, event, (call) => requested(call, event));
    case 'request_expired':
      return withCall(view, event, (call) => void (call.phase = 'expired'));
    case 'call_started':
      return withCall(view, event, (call) => started(call, event));
    case 'call_lost':
      return withCall(view, event, (call) => void (call.phase = 'lost'));
    case 'in_doubt':
      return withCall(view, event, (call) => doubted(call, event));
    case 'call_ended':
      return withCall(view, event, (call) => ended(call, event));
  }
}

/** Changes the call of an id; one whose step could not be read is made up. */
export function withCall(
  view: TurnView,
  { callId, tool = '' }: { callId: string; tool?: string },
  change: (call: CallView) => void,
): void {
  const known = view.calls.findLast((call) => call.callId === callId);
  if (known !== undefined) return change(known);
  const made = callView(
    { callId, id: callId, tool, kind: 'run', arguments: {} },
    Number.parseInt(callId, 10) || 0,
  );
  view.calls.push(made);
  change(made);
}

function callView(call: ProposedCall, step: number): CallView {
  const { callId, tool, arguments: args, proposed } = call;
  const lists = { decisions: [], resolutions: [], late: [] };
  const made = { callId, step, tool, arguments: args, effective: args, generation: 0, ...lists };
  return { ...made, phase: 'proposed', ...defined({ proposed }) };
}

function prepared(view: TurnView, proposed: ProposedCall): void {
  withCall(view, proposed, (call) => {
    if (call.phase === 'proposed') call.arguments = proposed.arguments;
    call.effective = proposed.arguments;
  });
}

function requested(call: CallView, event: RequestOpened): void {
  call.phase = 'requested';
  call.request = event;
  call.effective = event.arguments;
}

function started(call: CallView, event: CallStarted): void {
  call.phase = 'running';
  call.effective = event.arguments;
  call.generation = event.generation;
  call.startedAt = event.at;
}

function doubted(call: CallView, event: InDoubtOpened): void {
  call.phase = 'in_doubt';
  call.doubt = event;
}

function ended(call: CallView, event: CallEnded): void {
  if (call.phase !== 'denied' && call.phase !== 'expired') call.phase = 'done';
  call.result = event.result;
  if (event.origin === 'record') call.given = true;
  call.attempts = event.attempts;
  if (event.durationMs !== null) call.durationMs = event.durationMs;
}
