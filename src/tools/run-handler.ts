import { createPartialOutput } from './partial-output';
import { inProcess, type Runner } from './runner';
import type { CallContext, Tool } from './types';
import { within } from './within';

/** How long a handler may take to end after its signal has aborted, before its outcome counts as unknown. */
export const GRACE_MS = 2000;

/** How a handler ended by itself. `partial`: what it gave before it threw. */
export type Settled =
  { kind: 'returned'; value: unknown } | { kind: 'threw'; error: unknown; partial?: string };

/** How a run ended: by itself, or because time was over or it was cancelled. */
export type Ending = Settled | Ended;

export interface Ended {
  kind: 'timeout' | 'cancelled';
  /** False: it was cancelled before its handler was called. */
  started: boolean;
  /** What it gave by `partial` before. */
  partial: string;
  /** How it ended within the grace; undefined while it goes on. */
  settled: Settled | undefined;
  /** Resolves when it ends after all; never rejects. */
  late: Promise<Settled>;
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
  const settled = start(run, abort.signal, (text) => partial.add(String(text)));
  try {
    const first = await Promise.race([settled, clock.over]);
    if (first.kind === 'returned') return first;
    if (first.kind === 'threw') return { ...first, partial: partial.text() };
    const grace = await within(settled, GRACE_MS);
    return {
      kind: first.kind,
      started: true,
      partial: partial.text(),
      settled: grace.ended ? grace.value : undefined,
      late: settled,
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
): Promise<Settled> {
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

function neverStarted(reason: unknown): Ended {
  const settled: Settled = { kind: 'threw', error: reason };
  return { kind: 'cancelled', started: false, partial: '', settled, late: Promise.resolve(settled) };
}

// Promise.withResolvers comes with Node 22.
function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
