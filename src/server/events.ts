import type { Tell } from './failure';

/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: unknown;
  id?: number;
}

/** Where events come from, and what ends them. */
export interface EventSource {
  /** Ends when the signal aborts. What it throws is told as `trouble`. */
  events(signal: AbortSignal): AsyncGenerator<ServerEvent>;
  /** Asked at every heartbeat; false ends the stream. */
  isWelcome(): Promise<boolean>;
  /** Ends the stream. */
  closing: AbortSignal;
  tell: Tell;
}

const BEAT_MS = 15_000;
/** A comment: it keeps proxies from hanging up, and finds out who is gone. */
const BEAT = ': still here\n\n';
/** Milliseconds after which a browser connects again. */
const HELLO = 'retry: 1000\n\n';

/** Answers with server-sent events, as fast as they are read and no faster. */
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
    // Nothing is begun for a stream that nobody reads, such as the answer to HEAD.
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' } });
}

async function* encoded(source: EventSource, gone: AbortController): AsyncGenerator<string> {
  const signal = AbortSignal.any([gone.signal, source.closing]);
  const events = told(source, signal);
  try {
    yield HELLO;
    for (let next = events.next(); ;) {
      const result = await orBeat(next);
      if (result?.done === true || signal.aborted) return;
      if (result === undefined) {
        if (!(await source.isWelcome())) return;
        yield BEAT;
      } else {
        yield encode(result.value);
        next = events.next();
      }
    }
  } finally {
    gone.abort();
    await events.return(undefined);
  }
}

/** The stream ends after trouble, and the browser comes back. */
async function* told(source: EventSource, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  try {
    yield* source.events(signal);
  } catch (error) {
    yield { event: 'trouble', data: source.tell(error).body };
  }
}

/** The next event, or undefined when it takes long. */
async function orBeat<T>(next: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const beat = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), BEAT_MS);
  });
  try {
    return await Promise.race([next, beat]);
  } finally {
    clearTimeout(timer);
  }
}

function encode({ event, data, id }: ServerEvent): string {
  const place = id === undefined ? '' : `id: ${id}\n`;
  // JSON has no line breaks of its own, so this is always one line.
  return `${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
