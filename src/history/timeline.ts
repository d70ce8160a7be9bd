import { sumUsage, type Usage } from '../contract/spending/usage';
import { takesEffect } from './decisions';
import { type TurnEvent, callIdOf, effectiveEvents } from './events';
import { type CallView, type StepView, type TurnView, viewOf } from './view';

/** A call with everything that happened to it, in order. */
export interface TimelineCall extends CallView {
  /**
   * The time that the call's requests and doubts waited for a person, in milliseconds. Absent if nobody had to look, or
   * if it waits for the first time.
   */
  waitedMs?: number;
  events: TurnEvent[];
}

/** A step: the model's reply, its calls, and what happened to the turn meanwhile. */
export interface TimelineStep {
  /** The number of the step. 0 if no model is asked. */
  step: number;
  /** A reset took back the step, or its end. */
  undone: boolean;
  /** The model's reply. Absent while the model is asked, or if it failed. */
  reply?: StepView;
  calls: TimelineCall[];
  /** The events during the step that belong to no call. */
  events: TurnEvent[];
}

/** A turn, step by step. */
export interface Timeline {
  view: TurnView;
  /** The ids of the turn's runs. The first run comes first. There are several if the turn continued as new. */
  runs: string[];
  /** The number of times that the turn moved to another build. */
  moved: number;
  /** The tokens of all replies, if the provider counted them. */
  usage: Usage;
  steps: TimelineStep[];
}

/** Sorts the events of a turn by its steps. What a reset took back stays at its step. */
export function timelineOf(events: readonly TurnEvent[]): Timeline {
  const view = viewOf(events);
  const effective = new Set(effectiveEvents(events));
  return {
    view,
    runs: events.flatMap((event) => (event.type === 'turn_started' ? [event.runId] : [])),
    moved: events.filter((event) => event.type === 'continued_as_new' && event.moved === true).length,
    usage: sumUsage(view.steps),
    steps: groupSteps(events).map((group) => {
      const undone = !group.all.every((event) => effective.has(event));
      return toStep(group, { undone, view: undone ? viewBeforeReset(events, group) : view });
    }),
  };
}

/** The events of one step: all events, the events of each call, and the other events. */
interface StepGroup {
  step: number;
  all: TurnEvent[];
  calls: Map<string, TurnEvent[]>;
  others: TurnEvent[];
}

function groupSteps(events: readonly TurnEvent[]): StepGroup[] {
  const groups: StepGroup[] = [];
  for (const event of events) {
    if (event.type === 'turn_started') continue;
    if (event.type === 'thinking' || groups.length === 0) groups.push(makeGroup(event));
    const last = groups.at(-1);
    if (last !== undefined) addTo(groupOf(groups, event) ?? last, event);
  }
  return groups;
}

/** Makes the group of a step. Step 0: no model is asked, as in a workflow that only uses the gate. */
function makeGroup(event: TurnEvent): StepGroup {
  const step = event.type === 'thinking' ? event.step : 0;
  return { step, all: [], calls: new Map(), others: [] };
}

/** The group of the call that an event is about. The result of the tool's own check may come during a later step. */
function groupOf(groups: readonly StepGroup[], event: TurnEvent): StepGroup | undefined {
  const callId = callIdOf(event);
  if (callId === undefined || event.type === 'call_prepared') return undefined;
  return groups.findLast(({ calls }) => calls.has(callId));
}

/**
 * Adds an event to a group. Anybody can name any call id, so an event that names no call of the turn goes to the other
 * events.
 */
function addTo(group: StepGroup, event: TurnEvent) {
  group.all.push(event);
  if (event.type === 'step') for (const { callId } of event.calls) group.calls.set(callId, []);
  if (event.type === 'call_prepared' && !group.calls.has(event.call.callId))
    group.calls.set(event.call.callId, []);
  const callId = callIdOf(event);
  const own = callId === undefined ? undefined : group.calls.get(callId);
  (own ?? group.others).push(event);
}

/** The view of a step that a reset took back, as it was right before the reset. */
function viewBeforeReset(events: readonly TurnEvent[], { all }: StepGroup): TurnView {
  const last = all.findLast((event) => event.type !== 'reset');
  const reset = events.findIndex(
    (event, index) =>
      event.type === 'reset' &&
      last !== undefined &&
      events.indexOf(last) < index &&
      !effectiveEvents(events.slice(0, index + 1)).includes(last),
  );
  return viewOf(events.slice(0, reset));
}

function toStep(
  { step, calls, others }: StepGroup,
  { undone, view }: { undone: boolean; view: TurnView },
): TimelineStep {
  const reply = view.steps.find((one) => one.step === step);
  return {
    step,
    undone,
    reply,
    calls: [...calls].flatMap(([callId, events]) => {
      const call = view.calls.find((one) => one.callId === callId);
      return call === undefined ? [] : [{ ...call, ...waitOf(events), events }];
    }),
    events: others,
  };
}

/** The time for which a call waited for people: from each request, question or doubt to the event that closed it. */
function waitOf(events: readonly TurnEvent[]): { waitedMs?: number } {
  if (!events.some(opens)) return {};
  let waitedMs = 0;
  let since: number | undefined;
  for (const event of events) {
    if (opens(event)) since ??= Date.parse(event.at);
    else if (since !== undefined && closes(event)) {
      waitedMs += Date.parse(event.at) - since;
      since = undefined;
    }
  }
  return since !== undefined && waitedMs === 0 ? {} : { waitedMs };
}

function opens({ type }: TurnEvent) {
  return type === 'request_opened' || type === 'question_opened' || type === 'in_doubt';
}

function closes(event: TurnEvent) {
  if (event.type === 'decision' || event.type === 'resolved' || event.type === 'answered')
    return takesEffect(event);
  return ['request_expired', 'call_started', 'call_ended'].includes(event.type);
}
