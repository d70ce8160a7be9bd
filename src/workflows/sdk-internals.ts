import type { WorkflowSignalType } from '@temporalio/common';
import type { WorkflowInboundCallsInterceptor } from '@temporalio/workflow';
import { maybeGetActivator } from '@temporalio/workflow/lib/global-attributes';

/*
 * What our workflows use of the SDK though the SDK does not offer it. A new release of the SDK may change it; the test
 * of this file fails then. For workers see history/replay/sdk-internals.ts.
 */

/** The handler of a signal in the workflow that runs now. Undefined: the workflow handles no such signal. */
export function signalHandlerOf(name: string): WorkflowSignalType | undefined {
  return maybeGetActivator()?.signalHandlers.get(name)?.handler;
}

/** Whether an interceptor after this one sees signals, too. */
export function isSeenLater(own: WorkflowInboundCallsInterceptor): boolean {
  const { inbound = [] } = maybeGetActivator()?.interceptors ?? {};
  return inbound.slice(inbound.indexOf(own) + 1).some(({ handleSignal }) => handleSignal !== undefined);
}

/** Whether an interceptor of the application sees messages, beside our own one for signals. */
export function areMessagesIntercepted(): boolean {
  const { inbound = [] } = maybeGetActivator()?.interceptors ?? {};
  return inbound.filter(({ handleSignal, handleUpdate }) => handleSignal ?? handleUpdate).length > 1;
}

/**
 * The source of this run's random numbers. A reset makes another source, and the SDK offers no other sign of a reset.
 */
export function randomOfRun(): (() => number) | undefined {
  return maybeGetActivator()?.random;
}
