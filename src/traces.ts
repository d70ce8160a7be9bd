import { createHash, randomBytes } from 'node:crypto';
import type * as Otel from '@opentelemetry/api';

/** What a span says of itself, by the names of OpenTelemetry's conventions or ours. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** Which turn a span is of. */
export interface SpanPlace {
  namespace: string;
  turn: string;
  /** The span in which somebody started it, as a W3C `traceparent`. Absent: the turn is a trace of its own. */
  trace?: string | undefined;
}

export interface NewSpan {
  name: string;
  /** It asks another system. @default false */
  isClient?: boolean;
  facts: SpanFacts;
}

/** A span that has not ended. */
export interface OpenSpan {
  add(facts: SpanFacts): void;
  /** What it did failed; `type` is a word of a short list. */
  fail(type: string): void;
}

/** A span of something that is over. Times are milliseconds since the epoch. */
export interface PastSpan extends NewSpan {
  since: number;
  at: number;
  error?: string | undefined;
  /** It is the turn itself; all other spans of the turn are in it. */
  isTurn?: boolean;
}

/**
 * Where spans go: to the OpenTelemetry SDK that the application has registered; without one nowhere. Contract: no method throws
 * or waits for whoever takes the spans.
 */
export interface Traces {
  /** Whether prompts, replies, arguments and results go along, redacted. */
  readonly hasContent: boolean;
  /** Runs `work` in a span, in which spans of libraries come to lie. */
  within<T>(place: SpanPlace, span: NewSpan, work: (open: OpenSpan) => Promise<T>): Promise<T>;
  record(place: SpanPlace, span: PastSpan): void;
  /** What the spans in a turn lie in, as a W3C `traceparent`. Undefined where that is not known. */
  parentOf(place: SpanPlace): string | undefined;
}

type Api = typeof Otel;

const NAME = 'countersign';
/** Work goes on without a span where there can be none. */
const NO_SPAN: OpenSpan = { add: () => undefined, fail: () => undefined };

let api: Promise<Api | undefined> | undefined;

/** The OpenTelemetry API, where the application has it. Looked for once: each start of a turn asks. */
function loadApi(): Promise<Api | undefined> {
  return (api ??= import('@opentelemetry/api').catch(() => undefined));
}

/** Undefined where the application does not have the OpenTelemetry API. */
export async function openTraces({ hasContent = false } = {}): Promise<Traces | undefined> {
  const api = await loadApi();
  if (api === undefined) return undefined;
  return {
    hasContent,
    within: (place, span, work) => within(api, place, { span, work }),
    record: (place, span) => {
      safely(() => record(api, place, span));
    },
    parentOf: (place) => safely(() => traceparentOf(api, contextOf(api, place))),
  };
}

/** The span that is active where this is called, as a `traceparent`; undefined where none is. */
export async function activeTrace(): Promise<string | undefined> {
  const api = await loadApi();
  return api && traceparentOf(api, api.context.active());
}

function traceparentOf(api: Api, context: Otel.Context): string | undefined {
  const found = api.trace.getSpanContext(context);
  if (found === undefined || !api.isSpanContextValid(found)) return undefined;
  return `00-${found.traceId}-${found.spanId}-${(found.traceFlags & 1).toString(16).padStart(2, '0')}`;
}

/** What a message to another system carries of the span that is active where this is called. Empty where none is active. */
export async function activeCarrier(): Promise<{ traceparent?: string }> {
  const traceparent = await activeTrace();
  return traceparent === undefined ? {} : { traceparent };
}

async function within<T>(
  api: Api,
  place: SpanPlace,
  { span, work }: { span: NewSpan; work: (open: OpenSpan) => Promise<T> },
): Promise<T> {
  const started = safely(() => startIn(api, place, span));
  if (started === undefined) return work(NO_SPAN);
  try {
    return await api.context.with(started.context, () => work(openOf(api, started.span)));
  } finally {
    safely(() => started.span.end());
  }
}

function startIn(api: Api, place: SpanPlace, span: NewSpan): { span: Otel.Span; context: Otel.Context } {
  const parent = contextOf(api, place);
  const own = api.trace.getTracer(NAME).startSpan(span.name, optionsOf(api, span), parent);
  return { span: own, context: api.trace.setSpan(parent, own) };
}

function openOf(api: Api, span: Otel.Span): OpenSpan {
  return {
    add: (facts) => {
      safely(() => span.setAttributes(given(facts)));
    },
    fail: (type) => {
      safely(() => failed(api, span, type));
    },
  };
}

function record(api: Api, place: SpanPlace, past: PastSpan): void {
  const options = { ...optionsOf(api, past), startTime: past.since };
  const span =
    past.isTurn === true
      ? startTurn(api, place, { name: past.name, options })
      : api.trace.getTracer(NAME).startSpan(past.name, options, contextOf(api, place));
  if (past.error !== undefined) failed(api, span, past.error);
  // A clock may have been set back meanwhile.
  span.end(Math.max(past.since, past.at));
}

function failed(api: Api, span: Otel.Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: api.SpanStatusCode.ERROR });
}

function optionsOf(api: Api, { isClient = false, facts }: NewSpan): Otel.SpanOptions {
  return { kind: isClient ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL, attributes: given(facts) };
}

function given(facts: SpanFacts): Otel.Attributes {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/** The ids of the span of a turn. Each process works them out for itself: the span is written when the turn is over. */
interface TurnIds {
  traceId: string;
  spanId: string;
}

function idsOf({ namespace, turn }: SpanPlace): TurnIds {
  const digest = createHash('sha256').update(`${namespace}\n${turn}`).digest('hex');
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** The ids that the next span is to have. Set and read in one step of the event loop. */
let wanted: TurnIds | undefined;

/** Ids for the spans of an OpenTelemetry SDK, as its tracer provider takes them. */
export interface SpanIds {
  generateTraceId(): string;
  generateSpanId(): string;
}

/**
 * Gives the span of a turn the id that all other spans of the turn name as their parent. Give it to the tracer provider of
 * each worker. Without it these spans lie beside that of their turn.
 *
 * @example
 * const provider = new NodeTracerProvider({ idGenerator: turnSpanIds(), spanProcessors });
 */
export function turnSpanIds(): SpanIds {
  return {
    generateTraceId: () => wanted?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: () => wanted?.spanId ?? randomBytes(8).toString('hex'),
  };
}

/** Starts the span of a turn. One that is never ended is never exported: it tells whether the SDK takes our ids and samples. */
function startTurn(
  { trace, ROOT_CONTEXT }: Api,
  place: SpanPlace,
  { name, options }: { name: string; options: Otel.SpanOptions },
): Otel.Span {
  const joined = joinedOf(place);
  wanted = idsOf(place);
  try {
    const outer = joined === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, joined);
    return trace.getTracer(NAME).startSpan(name, options, outer);
  } finally {
    wanted = undefined;
  }
}

/** What the spans in a turn are in: its own span; where the SDK draws other ids, what that is in. */
function contextOf(api: Api, place: SpanPlace): Otel.Context {
  const ids = idsOf(place);
  const found = startTurn(api, place, { name: 'turn', options: {} }).spanContext();
  const isOurs = found.spanId === ids.spanId;
  const beside = joinedOf(place) ?? { ...ids, traceFlags: api.TraceFlags.SAMPLED, isRemote: true };
  const parent = isOurs ? { ...found, isRemote: true } : beside;
  return api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
}

function joinedOf({ trace = '' }: SpanPlace): Otel.SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(trace) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: parseInt(flags, 16) & 1, isRemote: true };
}

/** What goes wrong with a span is not the turn's matter. */
function safely<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
