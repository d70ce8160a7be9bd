import { BEAT_MS } from '../contract/streamed-text';
import { race } from '../system/race';
import type { FormatError } from './failure';

/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: unknown;
  id?: number;
}

/** The source of the events of a stream, and the signal that ends the stream. */
interface EventSource {
  /** Ends when the signal aborts. An error becomes the event `trouble`. */
  events(signal: AbortSignal): AsyncGenerator<ServerEvent>;
  /** Called before each event, and every second in between. False ends the stream. */
  isAllowed(): Promise<boolean>;
  /** Ends the stream. */
  closing: AbortSignal;
  formatError: FormatError;
  /** How events are written. @default with their names, for our own page */
  wire?: Wire;
}

/** How the events of a stream are written. */
export interface Wire {
  opening: string;
  /** Shows that the stream is alive. */
  beat(): string;
  encode(event: ServerEvent): string;
}

/** The milliseconds that a person who was removed or signed out keeps a silent stream. */
const CHECK_MS = 1_000;
/** Milliseconds after which a browser connects again. */
const RETRY_AFTER = 'retry: 1000\n\n';

/**
 * Answers with server-sent events, which are read only as fast as the client takes them. Hono's `streamSSE` writes
 * ahead: it starts the events of an answer that nobody reads (HEAD), never ends them, and lets two events through to a
 * person who was removed after the first of them was checked.
 */
export function eventStream(source: EventSource): Response {
  const gone = new AbortController();
  const lines = encoded(source, gone);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await lines.next();
        if (done === true) controller.close();
        else controller.enqueue(new TextEncoder().encode(value));
      },
      cancel: async () => {
        gone.abort();
        await lines.return(undefined);
      },
    },
    // A stream that nobody reads, such as the answer to HEAD, starts nothing.
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' } });
}

async function* encoded(source: EventSource, gone: AbortController): AsyncGenerator<string> {
  const { opening, beat, encode } = source.wire ?? NAMED;
  const signal = AbortSignal.any([gone.signal, source.closing]);
  const events = eventsOrTrouble(source, signal);
  try {
    yield opening + beat();
    let beatAt = performance.now();
    for (let next = events.next(); ;) {
      const result = await orTimeout(next);
      if (result?.done === true || signal.aborted || !(await source.isAllowed())) return;
      if (result) {
        yield encode(result.value);
        next = events.next();
      }
      if (performance.now() - beatAt < BEAT_MS) continue;
      yield beat();
      beatAt = performance.now();
    }
  } finally {
    gone.abort();
    await events.return(undefined);
  }
}

/** The events, with an error as the event `trouble`. The stream then ends, and the browser connects again. */
async function* eventsOrTrouble(source: EventSource, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  try {
    yield* source.events(signal);
  } catch (error) {
    yield { event: 'trouble', data: source.formatError(error).body };
  }
}

/** The next event, or undefined if it takes long. */
async function orTimeout<T>(next: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CHECK_MS);
  });
  try {
    return await race([next, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * An event that shows that the stream is alive, with the server's time. It is an event and not a comment, because a
 * page does not see comments. It also keeps proxies from closing the connection, and reveals clients that are gone.
 */
function beat() {
  return encodeNamed({ event: 'beat', data: { at: new Date().toISOString() } });
}

function encodeNamed({ event, data, id }: ServerEvent) {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  // JSON contains no line breaks of its own, so this is always one line.
  return `${idLine}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const NAMED: Wire = { opening: RETRY_AFTER, beat, encode: encodeNamed };
