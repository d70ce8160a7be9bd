import { CountersignError } from '../contract/errors';
import { type TurnEvent, callIdOf } from './events';
import { type TranscriptAt, transcriptOf } from './transcript';
import { type TurnView, viewOf } from './view';

/**
 * A moment of a turn. `step`: the reply of this step arrived. `call`: this call asked for its decision, or started
 * if it needs none. `event`: this history event was recorded, in the run with this number (counted from 1) or,
 * without a number, in the last run.
 */
type Point =
  | { kind: 'step'; step: number }
  | { kind: 'call'; callId: string }
  | { kind: 'event'; eventId: number; run?: number };

/**
 * Reads a point as a person writes it: `2` is a step, `2.1` a call, `#57` an event, `1#57` an event of the first run.
 *
 * @throws CountersignError `usage`.
 */
export function parsePoint(text: string): Point {
  if (/^\d+$/.test(text)) return { kind: 'step', step: Number(text) };
  const [, run, eventId] = /^(\d+)?#(\d+)$/.exec(text) ?? [];
  if (eventId !== undefined)
    return { kind: 'event', eventId: Number(eventId), run: run === undefined ? undefined : Number(run) };
  if (/^\S+\.\d+$/.test(text)) return { kind: 'call', callId: text };
  throw new CountersignError(
    'usage',
    `${JSON.stringify(text)} is not a point of a turn`,
    'write a step (2), a call (2.1) or a history event (#57; 1#57 in the first of several runs)',
  );
}

/**
 * The number of events up to a point, with all events that share the history event of the point.
 *
 * @throws CountersignError `not_found`.
 */
function countAt(events: readonly TurnEvent[], point: Point): number {
  const at = indexOf(events, point);
  if (at === -1) throw pointNotFound(events, point);
  let end = at + 1;
  while (end < events.length && sharesEvent(events[at], events[end])) end++;
  return end;
}

/**
 * Every place at which a turn can be looked at, in order, as the number of events up to it. Events that share a history
 * event are one place.
 */
export function stopsOf(events: readonly TurnEvent[]): number[] {
  return events.flatMap((event, index) => (sharesEvent(event, events[index + 1]) ? [] : [index + 1]));
}

/**
 * Whether two successive events share a history event. At the start of a run, the same id means another history event.
 */
function sharesEvent(one: TurnEvent | undefined, next: TurnEvent | undefined) {
  return one?.eventId === next?.eventId && next?.type !== 'turn_started';
}

function indexOf(events: readonly TurnEvent[], point: Point) {
  if (point.kind === 'event') return indexOfEvent(events, point);
  if (point.kind === 'step') {
    const reply = events.findLastIndex((event) => event.type === 'step' && event.step === point.step);
    if (reply !== -1) return reply;
    return events.findLastIndex((event) => event.type === 'thinking' && event.step === point.step);
  }
  return indexOfCall(events, point.callId);
}

const BEGINNINGS = [
  'request_opened',
  'question_opened',
  'call_started',
  'call_prepared',
  'call_ended',
] as const;

function indexOfCall(events: readonly TurnEvent[], callId: string) {
  for (const type of BEGINNINGS) {
    const at = events.findLastIndex((event) => event.type === type && callIdOf(event) === callId);
    if (at !== -1) return at;
  }
  return events.findLastIndex(
    (event) => event.type === 'step' && event.calls.some((call) => call.callId === callId),
  );
}

/** The last turn event at or before a history event. -1 for a history event after the last turn event. */
function indexOfEvent(events: readonly TurnEvent[], { eventId, run }: { eventId: number; run?: number }) {
  const starts = events.flatMap((event, index) => (event.type === 'turn_started' ? [index] : []));
  const number = run ?? starts.length;
  const from = starts[number - 1];
  if (from === undefined || eventId < 1) return -1;
  const end = starts[number] ?? events.length;
  if (eventId > (events[end - 1]?.eventId ?? 0)) return -1;
  return events.findLastIndex((event, index) => index >= from && index < end && event.eventId <= eventId);
}

function pointNotFound(events: readonly TurnEvent[], point: Point) {
  const steps = events.flatMap((event) => (event.type === 'step' ? [event] : []));
  const calls = steps.flatMap((step) => step.calls.map((call) => call.callId));
  const { message, hint } = {
    step: {
      message: `there is no step ${nameOf(point)}`,
      hint: `its steps: ${listOf(steps.map(({ step }) => String(step)))}`,
    },
    call: { message: `there is no call ${nameOf(point)}`, hint: `its calls: ${listOf(calls)}` },
    event: {
      message: `there is no event ${nameOf(point)}`,
      hint: `the last one on record is #${events.at(-1)?.eventId ?? 0}`,
    },
  }[point.kind];
  return new CountersignError('not_found', `${message} in this turn`, hint);
}

function nameOf(point: Point) {
  if (point.kind === 'step') return String(point.step);
  return point.kind === 'call' ? point.callId : `${point.run ?? ''}#${point.eventId}`;
}

const MOST = 20;

function listOf(names: readonly string[]) {
  if (names.length === 0) return 'none';
  const shown = [...new Set(names)];
  return shown.length <= MOST ? shown.join(', ') : `${shown.slice(0, MOST).join(', ')}, …`;
}

/** A turn as it was at a moment: the open requests, the phase of each call, and the messages. */
export interface TurnMoment {
  /** The number of turn events up to the moment. */
  count: number;
  /** The last history event so far, and its time in `at`. 0 and '' before the first event. */
  eventId: number;
  at: string;
  view: TurnView;
  transcript: TranscriptAt;
}

/** The turn after its first `count` events. A pure function, for a scrubber and for a command line. */
export function stateAfter(events: readonly TurnEvent[], count: number): TurnMoment {
  const past = events.slice(0, count);
  const last = past.at(-1);
  const moment = { count: past.length, eventId: last?.eventId ?? 0, at: last?.at ?? '' };
  return { ...moment, view: viewOf(past), transcript: transcriptOf(past) };
}

/** The turn at a point. @throws CountersignError `not_found`. */
export function stateAt(events: readonly TurnEvent[], point: Point): TurnMoment {
  return stateAfter(events, countAt(events, point));
}
