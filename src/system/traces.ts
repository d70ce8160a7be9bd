import { randomBytes } from 'node:crypto';
import type * as Otel from '@opentelemetry/api';
import { sha256 } from './sha256';

/** The attributes of a span. Their names are from OpenTelemetry's conventions, or our own. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** The turn that a span belongs to. */
export interface SpanPlace {
  namespace: string;
  turn: string;
  /** The span in which somebody started the turn, as a W3C `traceparent`. Absent: the turn is a separate trace. */
  trace?: string;
}

export interface NewSpan {
  name: string;
  /** Whether the span is a request to another system. @default false */
  isClient?: boolean;
  facts: SpanFacts;
}

/** A span that has not ended. */
export interface OpenSpan {
  add(facts: SpanFacts): void;
  /** Marks the span as failed. `type` is a word from a short list. */
  fail(type: string): void;
}

/** A span of something that is over. Times are milliseconds since the epoch. */
interface PastSpan extends NewSpan {
  since: number;
  at: number;
  error?: string;
  /** Whether the span is the turn itself. All other spans of the turn are inside it. */
  isTurn?: boolean;
}

/**
 * Takes spans for the OpenTelemetry SDK that the application has registered. Without such an SDK they are dropped. No
 * method may throw, or wait for the SDK.
 */
export interface Traces {
  /** Whether spans contain prompts, replies, arguments and results, all of them redacted. */
  readonly hasContent: boolean;
  /** Runs `work` in a span. Spans that libraries make meanwhile are inside that span. */
  within<T>(place: SpanPlace, span: NewSpan, work: (open: OpenSpan) => Promise<T>): Promise<T>;
  record(place: SpanPlace, span: PastSpan): void;
  /** The parent of the spans in a turn, as a W3C `traceparent`. Undefined if the parent is not known. */
  parentOf(place: SpanPlace): string | undefined;
}

type Api = typeof Otel;

const NAME = 'countersign';
/** Used if a span cannot be made. The work then goes on without a span. */
const NO_SPAN: OpenSpan = { add: () => undefined, fail: () => undefined };

let api: Promise<Api | undefined> | undefined;

/**
 * The OpenTelemetry API, if the application has it. The API is loaded once, because each start of a turn asks for it.
 */
function loadApi() {
  return (api ??= import(/* webpackIgnore: true */ '@opentelemetry/api').catch(() => undefined));
}

/** Opens the traces. Undefined if the application does not have the OpenTelemetry API. */
export async function openTraces({ hasContent = false } = {}): Promise<Traces | undefined> {
  const api = await loadApi();
  if (api === undefined) return undefined;
  return {
    hasContent,
    within: (place, span, work) => within(api, place, { span, work }),
    record: (place, span) => {
      safely(() => isHeard(api, place) && record(api, place, span));
    },
    parentOf: (place) => safely(() => traceparentOf(api, contextOf(api, place))),
  };
}

/** The span that is active in the caller, as a `traceparent`. Undefined if no span is active. */
export async function activeTrace(): Promise<string | undefined> {
  const api = await loadApi();
  return api && traceparentOf(api, api.context.active());
}

function traceparentOf(api: Api, context: Otel.Context): string | undefined {
  const found = api.trace.getSpanContext(context);
  if (found === undefined || !api.isSpanContextValid(found)) return undefined;
  return `00-${found.traceId}-${found.spanId}-${(found.traceFlags & 1).toString(16).padStart(2, '0')}`;
}

/** The headers that a message to another system needs to name the caller's active span. Empty if no span is active. */
export async function activeCarrier(): Promise<{ traceparent?: string }> {
  const traceparent = await activeTrace();
  return traceparent === undefined ? {} : { traceparent };
}

async function within<T>(
  api: Api,
  place: SpanPlace,
  { span, work }: { span: NewSpan; work: (open: OpenSpan) => Promise<T> },
): Promise<T> {
  const started = safely(() => (isHeard(api, place) ? startIn(api, place, span) : undefined));
  if (started === undefined) return work(NO_SPAN);
  try {
    return await api.context.with(started.context, () =>
      work({
        add: (facts) => {
          safely(() => started.span.setAttributes(given(facts)));
        },
        fail: (type) => {
          safely(() => failed(api, started.span, type));
        },
      }),
    );
  } finally {
    safely(() => started.span.end());
  }
}

/**
 * Whether anybody takes the spans of a turn. Without a registered SDK, we only pass the trace in which the turn was
 * started on to the systems that its calls ask.
 */
function isHeard({ trace, ProxyTracerProvider }: Api, place: SpanPlace) {
  if (place.trace !== undefined) return true;
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(NAME) !== undefined;
}

function startIn(api: Api, place: SpanPlace, span: NewSpan): { span: Otel.Span; context: Otel.Context } {
  const parent = contextOf(api, place);
  const own = api.trace.getTracer(NAME).startSpan(span.name, optionsOf(api, span), parent);
  return { span: own, context: api.trace.setSpan(parent, own) };
}

function record(api: Api, place: SpanPlace, past: PastSpan) {
  const options = { ...optionsOf(api, past), startTime: past.since };
  const span =
    past.isTurn === true
      ? startTurn(api, place, { name: past.name, options })
      : api.trace.getTracer(NAME).startSpan(past.name, options, contextOf(api, place));
  if (past.error !== undefined) failed(api, span, past.error);
  // A clock may have been set back meanwhile.
  span.end(Math.max(past.since, past.at));
}

function failed(api: Api, span: Otel.Span, type: string) {
  span.setAttribute('error.type', type);
  span.setStatus({ code: api.SpanStatusCode.ERROR });
}

function optionsOf(api: Api, { isClient = false, facts }: NewSpan): Otel.SpanOptions {
  return { kind: isClient ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL, attributes: given(facts) };
}

function given(facts: SpanFacts): Otel.Attributes {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/**
 * The ids of a turn's own span. Each process computes them, because that span is written only when the turn is over.
 */
interface TurnIds {
  traceId: string;
  spanId: string;
}

function idsOf({ namespace, turn }: SpanPlace): TurnIds {
  const digest = sha256(`${namespace}\n${turn}`);
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** The ids that the next span is to have. They are set and read in one step of the event loop. */
let wanted: TurnIds | undefined;

/** Generates ids of spans for an OpenTelemetry SDK, in the form that its tracer provider takes. */
export interface SpanIds {
  generateTraceId(): string;
  generateSpanId(): string;
}

/**
 * Gives the span of a turn the id that all other spans of the turn name as their parent. Pass this generator to the
 * tracer provider of each worker. Without it, the other spans are siblings of the turn's span.
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

/**
 * Starts the span of a turn. A caller that never ends the span does not export it: it only learns whether the SDK uses
 * our ids, and whether it samples the span.
 */
function startTurn(
  { trace, ROOT_CONTEXT }: Api,
  place: SpanPlace,
  { name, options }: { name: string; options: Otel.SpanOptions },
): Otel.Span {
  const joined = joinedOf(place);
  wanted = idsOf(place);
  try {
    const outer = joined ? trace.setSpanContext(ROOT_CONTEXT, joined) : ROOT_CONTEXT;
    return trace.getTracer(NAME).startSpan(name, options, outer);
  } finally {
    wanted = undefined;
  }
}

/** The parent of the spans in a turn: the turn's own span or, if the SDK uses other ids, the parent of that span. */
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

/** Runs a function and ignores its errors: a failure of a span must not become a failure of the turn. */
function safely<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
