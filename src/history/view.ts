import type { TurnEvent } from './events';
import { withoutUndone } from './standing';
import { viewCall } from './view/calls';
import { viewDecision } from './view/decisions';
import { makeView, viewRun } from './view/run';
import type { TurnView } from './view-types';

export type { CallPhase, CallView, StepView, ThinkingView, TurnView } from './view-types';

/** A turn as it is after the events so far; grows with them. */
export interface LiveView {
  /** Takes one more event. After a reset, what no longer counts is gone. */
  push(event: TurnEvent): void;
  /** The turn now. The same object is changed by the next push. */
  current(): TurnView;
}

/** Starts a view of a turn with no events yet. */
export function createView(): LiveView {
  let events: TurnEvent[] = [];
  let view = makeView();
  return {
    push(event) {
      if (event.type === 'reset') {
        events = withoutUndone(events, event.eventId);
        view = viewAll(events);
      }
      events.push(event);
      apply(view, event);
    },
    current: () => view,
  };
}

/** The view of a turn's events. */
export function viewOf(events: Iterable<TurnEvent>): TurnView {
  const live = createView();
  for (const event of events) live.push(event);
  return live.current();
}

function viewAll(events: readonly TurnEvent[]): TurnView {
  const view = makeView();
  for (const event of events) apply(view, event);
  return view;
}

function apply(view: TurnView, event: TurnEvent): void {
  viewRun(view, event);
  viewCall(view, event);
  viewDecision(view, event);
  if (opens(event) || view.requests.length + view.inDoubt.length > 0) findOpen(view);
  if (view.endedAt === null) view.status = statusOf(view);
}

/** Only these open something; looking through every call after every event would take the square of a long turn. */
function opens({ type }: TurnEvent): boolean {
  return type === 'request_opened' || type === 'in_doubt';
}

function findOpen(view: TurnView): void {
  view.requests = view.calls.flatMap(({ phase, request }) =>
    phase === 'requested' && request ? [request] : [],
  );
  view.inDoubt = view.calls.flatMap(({ phase, doubt }) => (phase === 'in_doubt' && doubt ? [doubt] : []));
}

function statusOf(view: TurnView): TurnView['status'] {
  if (view.inDoubt.length > 0) return 'in_doubt';
  return view.requests.length > 0 ? 'waiting' : 'running';
}
