import { join } from 'node:path';
import { startWorker, type RunningWorker, type WorkerSettings } from '../../src/worker';
import type { Config } from '../../src/tools/define-config';
import type { FixtureSettings } from './process-worker';

/** A worker in the process of the test. */
export interface WorkerHere {
  /** By which its tools name it; no process has it. */
  pid: number;
  /** Drains it: where a call of it runs, that is waited for, unlike in a process that is killed. */
  stop(): Promise<void>;
}

/**
 * Runs workflows in the thread of the test. A thread of their own loads all that they need for each worker, which takes half
 * of what a test takes.
 */
export const WITHOUT_THREADS = { debugMode: true } as const;

/** It cannot be killed, so nothing springs. */
const NO_TRAP = { at: () => undefined, atRecheck: () => undefined };

let started = 0;

/** Starts here what fixtures/worker.cjs starts in a process of its own, from the sources. */
export async function startWorkerHere(given: FixtureSettings): Promise<WorkerHere> {
  const pid = -(started += 1);
  const settings = { ...given, pid };
  const { crashConfig, workerSettings } = jest.requireActual<{
    crashConfig(lib: (name: string) => unknown, from: FixtureSettings, trap: typeof NO_TRAP): Config;
    workerSettings(from: FixtureSettings): Omit<WorkerSettings, 'config'>;
  }>('../fixtures/crash-config.cjs');
  const lib = (name: string): unknown =>
    jest.requireActual(join(__dirname, '..', '..', 'src', name.replace(/js$/, 'ts')));
  const config = crashConfig(lib, settings, NO_TRAP);
  const worker: RunningWorker = await startWorker({ config, ...workerSettings(settings) });
  return { pid, stop: () => worker.stop() };
}
