import { hasFailed } from './decided';
import { voteOf } from '../../contract/decision';
import type { TurnEvent } from '../../history/events';
import { effectOfDecision, effectOfResolution } from '../../history/decisions';
import type { CallView } from '../../history/view-types';

/** Maps moments to positions between 0 and 1. */
interface Scale {
  place(ms: number): number;
  /** At most six moments for the axis, far enough apart, with the first and the last moment. */
  ticks(): { at: number; iso: string }[];
}

/** The shortest gap that takes space, in milliseconds. */
const UNIT_MS = 50;
/** Ticks that are closer than this would overlap on a phone. The last tick is drawn left of its position. */
const APART = 0.2;
const LAST_APART = 0.32;

/**
 * A scale that keeps the order but not the proportions: the width of a gap is the logarithm of its length. So a turn
 * that ran for a second and waited for two days shows both. Without long gaps the scale is almost even.
 */
export function createScale(moments: readonly number[]): Scale {
  const stops = [...new Set(moments.filter(Number.isFinite))].sort((a, b) => a - b);
  const places = [0];
  for (const [index, stop] of stops.entries()) {
    const before = stops[index - 1];
    if (before !== undefined) places.push((places.at(-1) ?? 0) + Math.log2(1 + (stop - before) / UNIT_MS));
  }
  const whole = places.at(-1) || 1;
  const at = (index: number) => (places[index] ?? 0) / whole;
  return {
    place: (ms) => between(stops, at, ms),
    ticks: () => apart(stops.map((stop, index) => ({ at: at(index), iso: new Date(stop).toISOString() }))),
  };
}

function between(stops: readonly number[], at: (index: number) => number, ms: number) {
  const next = firstFrom(stops, ms);
  const after = stops[next];
  if (after === undefined) return stops.length === 0 ? 0 : 1;
  const before = stops[next - 1];
  if (before === undefined || after === ms) return at(next);
  return at(next - 1) + ((ms - before) / (after - before)) * (at(next) - at(next - 1));
}

/**
 * The index of the first stop at or after a moment. It is a binary search, because a long turn has thousands of stops
 * and each bar needs two searches.
 */
function firstFrom(stops: readonly number[], ms: number) {
  let [low, high] = [0, stops.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stops[middle] ?? 0) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

function apart(ticks: { at: number; iso: string }[]): { at: number; iso: string }[] {
  const last = ticks.at(-1);
  const kept: typeof ticks = [];
  for (const tick of ticks.slice(0, -1)) {
    if (tick.at > 1 - LAST_APART && kept.length > 0) break;
    if (tick.at - (kept.at(-1)?.at ?? -1) >= APART) kept.push(tick);
  }
  return last ? [...kept, last] : kept;
}

/** The kind of a stretch. */
type StretchKind = 'think' | 'wait' | 'queue' | 'run' | 'doubt';

/** A stretch of time in a row. `left` and `width` are fractions of the row. */
interface Stretch {
  kind: StretchKind;
  left: number;
  width: number;
  ms: number;
  /** Whether the stretch has not ended yet. */
  open: boolean;
  failed: boolean;
}

/** An event at one moment. */
interface Moment {
  /**
   * `said`: what a person said approves and denies nothing. The person asked again, withdrew a vote, or knew how a call
   * in doubt ended.
   */
  kind: 'approved' | 'denied' | 'said' | 'retried' | 'lost' | 'failed';
  at: number;
  label: string;
}

/** One row of the picture: a step with the model's work, or a call. */
export interface Row {
  key: string;
  kind: 'step' | 'call';
  /** The step or the call that the row shows, as in an address: `3`, `3.1`. */
  step: string;
  label: string;
  stretches: Stretch[];
  moments: Moment[];
}

/** The picture of a turn. */
interface TimelineLayout {
  rows: Row[];
  /** Ticks on the axis. */
  ticks: { at: number; iso: string }[];
  /** The position of a moment (ISO 8601), 0 to 1. */
  place(iso: string): number;
}

interface Line {
  key: string;
  kind: Row['kind'];
  step: string;
  label: string;
  spans: { kind: StretchKind; from: string; to?: string; failed: boolean }[];
  marks: { kind: Moment['kind']; at: string; label: string }[];
}

/** Arranges the events of a turn in rows. A stretch that has not ended reaches to `now`. */
export function layOutTimeline(events: readonly TurnEvent[], now: number): TimelineLayout {
  const lines = linesOf(events);
  const ended = events.at(-1)?.type === 'turn_ended';
  const last = events.at(-1)?.at;
  const end = ended && last !== undefined ? Date.parse(last) : now;
  const scale = createScale([...events.map(({ at }) => Date.parse(at)), end]);
  return {
    rows: lines.map((line) => toRow(line, { scale, end, ended })),
    ticks: scale.ticks(),
    place: (iso) => scale.place(Date.parse(iso)),
  };
}

interface Frame {
  scale: Scale;
  /** Milliseconds since 1970. */
  end: number;
  /** Whether the turn has ended, so that no stretch is open. */
  ended: boolean;
}

function toRow({ spans, marks, ...line }: Line, { scale, end, ended }: Frame): Row {
  return {
    ...line,
    stretches: spans.map(({ from, to, ...rest }) => {
      const start = Date.parse(from);
      const stop = Math.max(start, to === undefined ? end : Date.parse(to));
      const left = scale.place(start);
      const open = to === undefined && !ended;
      return { ...rest, left, width: scale.place(stop) - left, ms: stop - start, open };
    }),
    moments: marks.map(({ at, ...rest }) => ({ ...rest, at: scale.place(Date.parse(at)) })),
  };
}

function linesOf(events: readonly TurnEvent[]): Line[] {
  const lines = new Map<string, Line>();
  const line = (key: string, kind: Row['kind'], label: string) => {
    const known = lines.get(key);
    if (known) return known;
    const made: Line = { key, kind, step: key.replace('step-', ''), label, spans: [], marks: [] };
    lines.set(key, made);
    return made;
  };
  for (const event of events) draw(event, line);
  return [...lines.values()].filter(({ spans, marks }) => spans.length + marks.length > 0);
}

type LineOf = (key: string, kind: Row['kind'], label: string) => Line;

function draw(event: TurnEvent, line: LineOf) {
  switch (event.type) {
    case 'thinking':
    case 'think_retried':
    case 'think_failed':
    case 'step':
      drawStep(event, line(`step-${event.step}`, 'step', `step ${event.step}`));
      if (event.type === 'step') for (const call of event.calls) line(call.callId, 'call', call.tool);
      return;
    case 'turn_ended':
      return;
    default:
      if ('callId' in event && event.callId !== undefined && event.callId !== '') {
        drawCall(event, line(event.callId, 'call', 'tool' in event ? event.tool : ''));
      }
  }
}

type StepEvent = Extract<TurnEvent, { type: 'thinking' | 'think_retried' | 'think_failed' | 'step' }>;

function drawStep(event: StepEvent, line: Line) {
  switch (event.type) {
    case 'thinking':
      return open(line, 'think', event.at);
    case 'think_retried':
      return mark(line, 'retried', event.at, `${event.attempt} attempts`);
    case 'think_failed':
      close(line, event.at, true);
      return mark(line, 'failed', event.at, event.message);
    case 'step':
      return close(line, event.at);
  }
}

function drawCall(event: TurnEvent, line: Line) {
  switch (event.type) {
    case 'request_opened':
    case 'question_opened':
      return open(line, 'wait', event.at);
    case 'decision':
      return decided(event, line);
    case 'decision_void':
      close(line, event.at);
      return mark(line, 'denied', event.at, event.message);
    case 'request_expired':
      close(line, event.at, true);
      return mark(line, 'denied', event.at, 'expired');
    case 'call_held':
      return open(line, 'queue', event.at);
    case 'call_started':
    case 'call_resumed':
      return open(line, 'run', event.at);
    case 'call_lost':
      open(line, 'doubt', event.at);
      return mark(line, 'lost', event.at, event.message);
    case 'in_doubt':
      return open(line, 'doubt', event.at);
    case 'resolved':
    case 'answered':
      return ended(event, line);
    case 'call_ended':
      close(line, event.at, !event.result.success);
      if (event.attempts > 1) mark(line, 'retried', event.at, `${event.attempts} attempts`);
  }
}

function decided(event: Extract<TurnEvent, { type: 'decision' }>, line: Line) {
  const effect = effectOfDecision(event);
  if (effect === undefined) return;
  const isOpen = effect === 'asks_again' || event.decision === 'withdrawn';
  const kind = isOpen ? 'said' : voteOf(event) === 'denied' ? 'denied' : 'approved';
  const by = `${event.decision ?? 'decided'} by ${event.approver}`;
  if (effect === 'counts') return mark(line, kind, event.at, `${by}, waits for others`);
  if (effect === 'approves') open(line, 'queue', event.at);
  else close(line, event.at);
  mark(line, kind, event.at, by);
}

function ended(event: Extract<TurnEvent, { type: 'resolved' | 'answered' }>, line: Line) {
  if (event.judgement.accepted !== true) return;
  const effect = event.type === 'resolved' ? effectOfResolution(event) : undefined;
  if (effect !== 'counts') close(line, event.at);
  const word = event.type === 'answered' ? event.answer : event.resolution;
  const kind = word === 'declined' ? 'denied' : effect === 'ends' ? 'said' : 'approved';
  const waits = effect === 'counts' ? ', waits for others' : '';
  mark(line, kind, event.at, `${word ?? event.type} by ${event.approver}${waits}`);
}

/** Ends the open stretch and opens a new one, unless both are of the same kind. */
function open(line: Line, kind: StretchKind, at: string) {
  const last = line.spans.at(-1);
  if (last && last.to === undefined && last.kind === kind) return;
  close(line, at, kind === 'doubt');
  line.spans.push({ kind, from: at, failed: false });
}

function close(line: Line, at: string, failed = false) {
  const last = line.spans.at(-1);
  if (last === undefined || last.to !== undefined) return;
  last.to = at;
  last.failed = failed;
}

/** Which calls of a turn are listed. */
export type CallFilter = 'all' | 'failed' | 'decided';

/**
 * Whether a call fits the filter. `failed`: the call failed or its outcome is unknown. `decided`: a person decided,
 * resolved or answered it.
 */
export function callFits(call: CallView, filter: CallFilter): boolean {
  const { phase, decisions, resolutions, answers } = call;
  if (filter === 'all') return true;
  if (filter === 'decided') return decisions.length + resolutions.length + answers.length > 0;
  return phase === 'in_doubt' || hasFailed(call);
}

function mark(line: Line, kind: Moment['kind'], at: string, label: string) {
  line.marks.push({ kind, at, label });
}
