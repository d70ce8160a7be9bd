import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, Runtime, type Worker, type WorkerOptions } from '@temporalio/worker';
import { CountersignError, errorMessage } from '../contract/errors';
import { threadSharingWorker } from '../history/replay/sdk-internals';

/**
 * The time within which the other workers have to end after the first failure: calls have 10 s to finish and 2 s until
 * they are given up. The process of a command then ends within 15 s, even on a busy machine.
 */
const END_MS = 12_000;

/**
 * A drain that takes longer than this hangs. With `shutdownForceTime` of `TIMING`, the SDK ends a drain by force after
 * 30 s; this is 2 s later.
 */
const DRAIN_MS = 32_000;

const LOOK_MS = 250;

/** A process that does nothing for longer than this may lose its calls: the server waits 10 s for a heartbeat. */
const STILL_MS = 5_000;

/** The part of the SDK's worker that we use. */
export type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** The workers of one process. */
interface WorkerGroup {
  workers: readonly Runnable[];
  /** Closes the resources that the workers share. Called once, when all workers have ended or their time is over. */
  close(): Promise<void>;
  log: Pick<Logger, 'error' | 'warn'>;
}

/**
 * Runs workers together: they end together, and the resources that they share are closed whatever happens.
 *
 * @returns `done` resolves when all workers have drained. It rejects with CountersignError `failed` within 12 s
 * of the first failure, however the other workers end.
 */
export function runWorkers(group: WorkerGroup) {
  const watch = watchOver(group);
  const runs = group.workers.map((worker) => runOne(worker, group.log));
  let cause: unknown;
  for (const run of runs) run.catch((error: unknown) => (cause ??= error));
  const drained = Promise.all(runs).then(
    () => true,
    () => false,
  );
  const end = async () => {
    const isDrained = await Promise.race([drained, watch.failed.then(() => false)]);
    if (!isDrained) shutDown(group.workers);
    const closed = await endRest(group, runs);
    watch.release();
    if (!isDrained || !closed) throw workerFailed(cause);
  };
  const done = end();
  const stop = async () => {
    watch.expectEnd();
    shutDown(group.workers);
    await done;
  };
  return {
    /** Drains all workers, then closes the resources that they share. Rejects as `done` does. */
    stop,
    done,
  };
}

/** A worker that has stopped had drained: then only its native part, which a thread may hold a moment longer, was not released. */
async function runOne(worker: Runnable, log: WorkerGroup['log']) {
  try {
    await worker.run();
  } catch (error) {
    if (worker.getState() !== 'STOPPED' || !/still in use/.test(errorMessage(error))) throw error;
    log.warn('the worker has drained, but its memory could not be released', { error });
  }
}

/** Ends workers that never ran: they hold the connection until they have ended. */
export async function endUnused({ workers, close, log }: WorkerGroup): Promise<void> {
  const runs = workers.map((worker) => worker.run());
  shutDown(workers);
  await endRest({ workers, close, log }, runs);
}

function shutDown(workers: readonly Runnable[]) {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/**
 * Closes everything. Returns whether that worked in time. The caller throws the first failure. Later failures go to the
 * log.
 */
async function endRest({ close, log }: WorkerGroup, runs: readonly Promise<void>[]) {
  const clock = new AbortController();
  const late = delay(END_MS, 'late' as const, { signal: clock.signal });
  // The clock is always aborted in the end, so its rejection is expected.
  late.catch(() => undefined);
  const closing = Promise.allSettled(runs).then(close);
  try {
    if ((await Promise.race([closing, late])) !== 'late') return true;
    log.error(`the worker could not be closed within ${END_MS / 1000} s; the process has to end`);
  } catch (error) {
    log.error('the connection of the worker could not be closed; the process has to end', { error });
  } finally {
    clock.abort();
  }
  return false;
}

/** Notices a failed worker early, because the worker's `run` rejects only when the worker has closed. */
function watchOver({ workers, log }: WorkerGroup) {
  let expectedAt: number | undefined;
  const expectEnd = (): void => void (expectedAt ??= performance.now());
  const isLost = (worker: Runnable) => {
    const state = worker.getState();
    if (state === 'FAILED') return true;
    if (expectedAt === undefined) return state !== 'RUNNING' && state !== 'INITIALIZED';
    return performance.now() - expectedAt > DRAIN_MS;
  };
  const runtime = Runtime.instance();
  runtime.registerShutdownSignalCallback(expectEnd);
  let timer: NodeJS.Timeout | undefined;
  const still = stillness();
  const failed = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      const stood = still();
      if (stood !== undefined) log.warn(stood);
      if (workers.some(isLost)) resolve();
    }, LOOK_MS);
  });
  const release = () => {
    clearInterval(timer);
    runtime.deregisterShutdownSignalCallback(expectEnd);
  };
  return { failed, expectEnd, release };
}

/**
 * Makes a function that is called again and again, and says in words that this process stood still since it was called
 * last. Undefined: it did not.
 */
export function stillness(now: () => number = () => performance.now()): () => string | undefined {
  let last = now();
  return () => {
    const ms = now() - last;
    last += ms;
    return ms < STILL_MS
      ? undefined
      : `this worker stood still for ${Math.round(ms / 1000)} s: it was frozen, its machine had no time for it, or a handler blocked it. Calls that it ran may be in doubt, or run again elsewhere.`;
  };
}

/**
 * The error for a worker that was frozen while it ran workflow code: the SDK measures 5 s of real time. Any other error
 * stays unchanged.
 */
export function explainFrozen(error: unknown): unknown {
  if (!(error instanceof Error) || !/^Script execution timed out after \d+ ?ms/.test(error.message))
    return error;
  return new CountersignError('failed', 'the worker was frozen for over 5 s inside workflow code', {
    hint: `The machine slept, was moved, or gave it no processor time. ${START_AGAIN}`,
    cause: error,
  });
}

const START_AGAIN = 'Start it again: every turn goes on, and what had started is not started twice.';

function workerFailed(cause: unknown) {
  const frozen = explainFrozen(cause);
  if (frozen !== cause) return frozen;
  const why = cause instanceof Error ? cause.message : 'it could not be closed in time';
  return new CountersignError('failed', `the worker failed: ${why}`, { hint: START_AGAIN, cause });
}

/** Makes either all of the workers or none. Workers with the same workflows share their threads. */
export async function createWorkers(options: readonly WorkerOptions[], log: Logger): Promise<Worker[]> {
  const sharing = threadSharingWorker();
  const made = await Promise.allSettled(options.map((one) => sharing.create(one)));
  const workers = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = made.find((one) => one.status === 'rejected');
  if (failed === undefined) return workers;
  await endUnused({ workers, close: () => Promise.resolve(), log });
  throw failed.reason;
}
