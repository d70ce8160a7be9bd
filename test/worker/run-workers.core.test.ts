import { CountersignError } from '../../src/contract/errors';
import { type Runnable, runWorkers } from '../../src/worker/run-workers';

/** A worker that runs until it is shut down, and then ends in a state with an error. */
function workerThatEnds(state: 'STOPPED' | 'FAILED', error: Error): Runnable {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  let now: ReturnType<Runnable['getState']> = 'RUNNING';
  return {
    run: async () => {
      await ended;
      now = state;
      throw error;
    },
    shutdown: () => end(),
    getState: () => now,
  };
}

const HELD = 'Worker still in use: Expected 1 reference, but got 2';

it.each([
  ['does not fail for a worker that had drained, and tells of it', 'STOPPED' as const, HELD, undefined, 1],
  ['fails for a worker that did not drain', 'FAILED' as const, HELD, 'failed', 0],
  ['fails for a plugin that fails after the drain', 'STOPPED' as const, 'not flushed', 'failed', 0],
])('%s', async (_, state, message, code, warnings) => {
  const log = { warn: jest.fn(), error: jest.fn() };
  const close = jest.fn(async () => undefined);
  const error = new Error(message);
  const group = runWorkers({ workers: [workerThatEnds(state, error)], close, log });
  // Whoever stops it hears the same.
  group.done.catch(() => undefined);
  const failure: unknown = await group.stop().then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(failure instanceof CountersignError ? failure.code : failure).toBe(code);
  expect(log.warn).toHaveBeenCalledTimes(warnings);
  expect(close).toHaveBeenCalledTimes(1);
});
