import type { TurnEvent } from '../../history/events';
import { createScale, type Scale } from './scale';

/** What a stretch of a row is about. */
export type StretchKind = 'think' | 'wait' | 'queue' | 'run' | 'doubt';

/** A stretch of time in a row. `left` and `width` are parts of the whole, 0 to 1. */
export interface Stretch {
  kind: StretchKind;
  left: number;
  width: number;
  ms: number;
  /** It has not ended yet. */
  open: boolean;
  failed: boolean;
}

/** Something that happened at one moment. */
export interface Moment {
  kind: 'approved' | 'denied' | 'retried' | 'lost' | 'failed';
  at: number;
  label: string;
}

/** One line of the picture: a step's thinking, or a call. */
export interface Row {
  key: string;
  kind: 'step' | 'call';
  label: string;
  stretches: Stretch[];
  moments: Moment[];
}

/** The picture of a turn. */
export interface Timeline {
  rows: Row[];
  /** Marks on the axis. */
  ticks: { at: number; iso: string }[];
  /** Where a moment (ISO 8601) is, 0 to 1. */
  place(iso: string): number;
}

interface Line {
  key: string;
  kind: Row['kind'];
  label: string;
  spans: { kind: StretchKind; from: string; to?: string; failed: boolean }[];
  marks: { kind: Moment['kind']; at: string; label: string }[];
}

/** Lays a turn's events out. A stretch that has not ended reaches to `now`. */
export function timelineOf(events: readonly TurnEvent[], now: number): Timeline {
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
  /** Whether the turn ended there; nothing is open then. */
  ended: boolean;
}

function toRow({ key, kind, label, spans, marks }: Line, { scale, end, ended }: Frame): Row {
  return {
    key,
    kind,
    label,
    stretches: spans.map(({ kind: what, from, to, failed }) => {
      const start = Date.parse(from);
      const stop = Math.max(start, to === undefined ? end : Date.parse(to));
      const left = scale.place(start);
      return {
        kind: what,
        left,
        width: scale.place(stop) - left,
        ms: stop - start,
        open: to === undefined && !ended,
        failed,
      };
    }),
    moments: marks.map(({ kind: what, at, label: text }) => ({
      kind: what,
      at: scale.place(Date.parse(at)),
      label: text,
    })),
  };
}

function linesOf(events: readonly TurnEvent[]): Line[] {
  const lines = new Map<string, Line>();
  const line = (key: string, kind: Row['kind'], label: string): Line => {
    const known = lines.get(key);
    if (known !== undefined) return known;
    const made: Line = { key, kind, label, spans: [], marks: [] };
    lines.set(key, made);
    return made;
  };
  for (const event of events) draw(event, line);
  return [...lines.values()].filter(({ spans, marks }) => spans.length + marks.length > 0);
}

type LineOf = (key: string, kind: Row['kind'], label: string) => Line;

function draw(event: TurnEvent, line: LineOf): void {
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

function drawStep(event: StepEvent, line: Line): void {
  switch (event.type) {
    case 'thinking':
      return open(line, 'think', event.at);
    case 'think_retried':
      return mark(line, 'retried', { at: event.at, label: `${event.attempt} attempts` });
    case 'think_failed':
      close(line, event.at, true);
      return mark(line, 'failed', { at: event.at, label: event.message });
    case 'step':
      return close(line, event.at);
  }
}

function drawCall(event: TurnEvent, line: Line): void {
  switch (event.type) {
    case 'request_opened':
      return open(line, 'wait', event.at);
    case 'decision':
      return decided(event, line);
    case 'request_expired':
      close(line, event.at, true);
      return mark(line, 'denied', { at: event.at, label: 'expired' });
    case 'call_started':
      return open(line, 'run', event.at);
    case 'call_lost':
      open(line, 'doubt', event.at);
      return mark(line, 'lost', { at: event.at, label: event.message });
    case 'in_doubt':
      return open(line, 'doubt', event.at);
    case 'resolved':
      return resolved(event, line);
    case 'call_ended':
      close(line, event.at, !event.result.success);
      if (event.attempts > 1) mark(line, 'retried', { at: event.at, label: `${event.attempts} attempts` });
  }
}

function decided(event: Extract<TurnEvent, { type: 'decision' }>, line: Line): void {
  if (event.judgement.accepted !== true) return;
  const denied = event.decision === 'denied';
  if (denied) close(line, event.at);
  else open(line, 'queue', event.at);
  mark(line, denied ? 'denied' : 'approved', {
    at: event.at,
    label: `${event.decision ?? 'decided'} by ${event.approver}`,
  });
}

function resolved(event: Extract<TurnEvent, { type: 'resolved' }>, line: Line): void {
  if (event.judgement.accepted !== true) return;
  close(line, event.at);
  mark(line, 'approved', { at: event.at, label: `${event.resolution ?? 'resolved'} by ${event.approver}` });
}

/** Ends what was open, unless the same goes on. */
function open(line: Line, kind: StretchKind, at: string): void {
  const last = line.spans.at(-1);
  if (last !== undefined && last.to === undefined && last.kind === kind) return;
  close(line, at, kind === 'doubt');
  line.spans.push({ kind, from: at, failed: false });
}

function close(line: Line, at: string, failed = false): void {
  const last = line.spans.at(-1);
  if (last === undefined || last.to !== undefined) return;
  last.to = at;
  last.failed = failed;
}

function mark(line: Line, kind: Moment['kind'], { at, label }: { at: string; label: string }): void {
  line.marks.push({ kind, at, label });
}
