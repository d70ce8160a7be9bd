import type { SignalInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes';
import { asError } from '../contract/errors';

/**
 * A resolved promise that costs nothing. The SDK makes six promises for each signal and keeps a stack for each, which is
 * most of the cost of a signal. From this one it makes none.
 */
const RESOLVED: Promise<void> = {
  then: (resolved, rejected) => Promise.resolve().then(resolved, rejected),
  catch: () => RESOLVED,
  finally: (done) => {
    done?.();
    return RESOLVED;
  },
  [Symbol.toStringTag]: 'Promise',
};

/**
 * Calls signal handlers without the SDK's promises, so that a flood of signals does not block the worker. Only our own
 * workflow bundle has this interceptor; another application's workflow that uses a gate does not.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [{ handleSignal }],
});

function handleSignal(input: SignalInput, next: (input: SignalInput) => Promise<void>): Promise<void> {
  const handler = getActivator().signalHandlers.get(input.signalName)?.handler;
  if (handler === undefined) return next(input);
  try {
    const done = handler(...input.args);
    return done === undefined ? RESOLVED : done;
  } catch (error) {
    return Promise.reject(asError(error));
  }
}
