import type { CallContext, Tool } from './types';
import { within } from './within';
import { createPartialOutput } from './cut-output';

/** How long a handler may take to end after its signal has aborted, before its outcome counts as unknown. */
export const GRACE_MS = 2000;

/** How a handler ended by itself. `partial`: what it gave before it threw. */
export type Finished =
  { kind: 'returned'; value: unknown } | { kind: 'threw'; error: unknown; partial?: string };

/** How a run ended: by itself, or because time was over or it was cancelled. */
export type Ending = Finished | Interrupted;

export interface Interrupted {
  kind: 'timeout' | 'cancelled';
  /** False: it was cancelled before its handler was called. */
  started: boolean;
  /** What it gave by `partial` before. */
  partial: string;
  /** How it ended within the grace; undefined while it goes on. */
  finished: Finished | undefined;
  /** Resolves when it ends after all, with all that it gave by `partial`; never rejects. */
  late: Promise<Finished>;
}

export interface HandlerRun {
  tool: Tool;
  value: unknown;
  context: Omit<CallContext, 'signal' | 'partial'>;
  runner?: Runner | undefined;
  timeoutMs: number;
  /** Cancels the run. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs a handler to its end, but not past its time: then its signal aborts, and after the grace it is left to itself.
 * Not started at all where the signal has aborted already. Never rejects.
 */
export async function runHandler(run: HandlerRun): Promise<Ending> {
  if (run.signal?.aborted === true) return neverStarted(run.signal.reason);
  const partial = createPartialOutput(run.tool.outputLimit);
  const abort = new AbortController();
  const clock = watch(run, abort);
  const finished = start(run, abort.signal, (text) => partial.add(String(text)));
  try {
    const first = await Promise.race([finished, clock.over]);
    if (first.kind === 'returned') return first;
    if (first.kind === 'threw') return { ...first, partial: partial.text() };
    const late = finished.then((end) => (end.kind === 'threw' ? { ...end, partial: partial.text() } : end));
    const grace = await within(late, GRACE_MS);
    return {
      kind: first.kind,
      started: true,
      partial: partial.text(),
      finished: grace.ended ? grace.value : undefined,
      late,
    };
  } finally {
    clock.stop();
  }
}

/** `over` resolves when the time is over or the run is cancelled, whichever comes first, and aborts the handler then. */
function watch({ timeoutMs, signal }: HandlerRun, abort: AbortController) {
  const { promise: over, resolve } = withResolvers<{ kind: 'timeout' | 'cancelled' }>();
  const end = (kind: 'timeout' | 'cancelled', reason: unknown): void => {
    resolve({ kind });
    abort.abort(reason);
  };
  const onAbort = (): void => end('cancelled', signal?.reason);
  const timeout = (): void =>
    end('timeout', new DOMException(`timed out after ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(timeout, timeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  const stop = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
  return { over, stop };
}

async function start(
  run: HandlerRun,
  signal: AbortSignal,
  partial: (text: string) => void,
): Promise<Finished> {
  const { tool, value, runner = inProcess } = run;
  try {
    return {
      kind: 'returned',
      value: await runner({ tool, value, context: { ...run.context, signal, partial } }),
    };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

function neverStarted(reason: unknown): Interrupted {
  const finished: Finished = { kind: 'threw', error: reason };
  return {
    kind: 'cancelled',
    started: false,
    partial: '',
    finished,
    late: Promise.resolve(finished),
  };
}

// Promise.withResolvers comes with Node 22.
function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** What there is to run. */
interface RunnerJob {
  tool: Tool;
  /** The arguments, as the tool's `parse` returned them. */
  value: unknown;
  context: CallContext;
}

/**
 * Executes a handler; replace it to put a sandbox in its place.
 * Contract: resolves to what the handler returned and rejects with what it threw; throws TransportError where the
 * sandbox itself broke; ends soon after `context.signal` aborts.
 */
export type Runner = (job: RunnerJob) => Promise<unknown>;

/** Runs handlers in this process. */
export const inProcess: Runner = ({ tool, value, context }) => tool.handle(value, context);
