import type { CallContext, Tool } from './types';
import { within } from './wait-within';
import { type CallFacts, type Live, makeContext } from './context';
import { createPartialOutput, cutOutput } from './cut-output';

/**
 * The longest time that a handler may take to end after its signal has aborted, before its outcome counts as unknown.
 */
const GRACE_MS = 2000;

/** How a handler ended by itself. `partial`: the output that it reported before it threw. */
export type Finished =
  { kind: 'returned'; value: unknown } | { kind: 'threw'; error: unknown; partial?: string };

/** How a run ended: by itself, by a timeout, or by a cancellation. */
export type Ending = Finished | InterruptedRun;

export interface InterruptedRun {
  kind: 'timeout' | 'cancelled';
  /** False: the run was cancelled before its handler was called. */
  started: boolean;
  /** The output that the handler reported with `partial` so far. */
  partial: string;
  /** How the handler ended within the grace. Undefined if it still runs. */
  finished: Finished | undefined;
  /**
   * Resolves when the handler has ended after all. If the handler threw, the whole partial output comes with it. Never
   * rejects.
   */
  late: Promise<Finished>;
}

interface HandlerRun {
  tool: Tool;
  value: unknown;
  facts: CallFacts;
  /** The secrets and the log for the handler's context. */
  deps?: Parameters<typeof makeContext>[1];
  live?: Live;
  runner?: Runner;
  timeoutMs: number;
  /** Cancels the run. */
  signal?: AbortSignal;
}

/**
 * Runs a handler to its end, within its timeout. At the timeout its signal aborts, and after the grace we stop waiting
 * for it. Does not start the handler if `signal` has already aborted. Never rejects.
 */
export async function runHandler(run: HandlerRun): Promise<Ending> {
  if (run.signal?.aborted === true) return neverStarted(run.signal.reason);
  const partial = readablePartial(run);
  const abort = new AbortController();
  const clock = watch(run, abort);
  const ask = whileStanding(run.live?.ask, clock);
  const finished = start(run, abort.signal, { partial: partial.add, ask });
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

/**
 * Keeps partial output without secrets. Secrets are removed before the output is cut, because the cut could leave half
 * a secret.
 */
function readablePartial({ tool: { outputLimit }, deps, live }: HandlerRun) {
  const kept = createPartialOutput(outputLimit);
  const hiding = deps?.secrets?.hideStream();
  const add = (text: string) => {
    const known = hiding === undefined ? text : hiding.add(text);
    kept.add(known);
    if (known !== '') live?.partial?.(known);
  };
  return { add, text: () => cutOutput(kept.text() + (hiding?.rest() ?? ''), outputLimit) };
}

/** `over` resolves at the timeout or when the run is cancelled, whichever is first, and the handler's signal aborts. */
function watch({ timeoutMs, signal }: HandlerRun, abort: AbortController) {
  const { promise: over, resolve } = withResolvers<{ kind: 'timeout' | 'cancelled' }>();
  const end = (kind: 'timeout' | 'cancelled', reason: unknown) => {
    resolve({ kind });
    abort.abort(reason);
  };
  const onAbort = () => end('cancelled', signal?.reason);
  const timeout = () => end('timeout', new DOMException(`timed out after ${timeoutMs} ms`, 'TimeoutError'));
  const timer = createTimer(timeoutMs, timeout);
  signal?.addEventListener('abort', onAbort, { once: true });
  const stop = () => {
    timer.stop();
    signal?.removeEventListener('abort', onAbort);
  };
  return { over, stop, timer };
}

/**
 * A timer that can be paused. Several callers may hold the timer at the same time. The timer continues when the last
 * caller releases it.
 */
function createTimer(ms: number, fire: () => void) {
  let left = ms;
  let since = performance.now();
  let holders = 0;
  let timer: NodeJS.Timeout | undefined = setTimeout(fire, left);
  const hold = () => {
    holders += 1;
    if (holders > 1) return;
    clearTimeout(timer);
    left = Math.max(0, left - (performance.now() - since));
  };
  const release = () => {
    holders -= 1;
    if (holders > 0) return;
    since = performance.now();
    // The timer is undefined if it was stopped.
    if (timer !== undefined) timer = setTimeout(fire, left);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return { hold, release, stop };
}

/** Pauses the timeout while a person is asked. The asking code limits how long the person may take. */
function whileStanding(ask: Live['ask'], { timer }: ReturnType<typeof watch>): Live['ask'] {
  if (ask === undefined) return undefined;
  return async (...asked) => {
    timer.hold();
    try {
      return await ask(...asked);
    } finally {
      timer.release();
    }
  };
}

async function start(run: HandlerRun, signal: AbortSignal, own: Live): Promise<Finished> {
  const { tool, value, facts, deps = {}, live, runner = inProcess } = run;
  try {
    const context = makeContext(facts, deps, { signal, live: { ...live, ...own } });
    return { kind: 'returned', value: await runner({ tool, value, context }) };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

function neverStarted(reason: unknown): InterruptedRun {
  const finished: Finished = { kind: 'threw', error: reason };
  return {
    kind: 'cancelled',
    started: false,
    partial: '',
    finished,
    late: Promise.resolve(finished),
  };
}

// Node has Promise.withResolvers from version 22 on.
function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A handler to run, with its arguments and context. */
interface RunnerJob {
  tool: Tool;
  /** The arguments, as the tool's `parse` returned them. */
  value: unknown;
  context: CallContext;
}

/**
 * Executes a handler. Replace it to run handlers in a sandbox.
 * Contract: resolves to the handler's result and rejects with the handler's error; throws TransportError if the
 * sandbox itself broke; ends soon after `context.signal` aborts.
 */
export type Runner = (job: RunnerJob) => Promise<unknown>;

/** Runs handlers in this process. */
export const inProcess: Runner = ({ tool, value, context }) => tool.handle(value, context);
