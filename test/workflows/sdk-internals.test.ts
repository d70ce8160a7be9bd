import { maybeGetActivator } from '@temporalio/workflow/lib/global-attributes';
import { condition, defineSignal, setHandler } from '@temporalio/workflow';
import {
  areMessagesIntercepted,
  isSeenLater,
  randomOfRun,
  signalHandlerOf,
} from '../../src/workflows/sdk-internals';
import { endWorkflow, jobs, WorkflowUnderTest } from '../support/workflow';

/*
 * A release of the SDK that changes what we use without its leave fails here, and says which part.
 */

afterEach(endWorkflow);

const handler = jest.fn();

async function waits(): Promise<void> {
  setHandler(defineSignal('pay'), handler);
  await condition(() => false);
}

test('Activator.signalHandlers has the handlers of the workflow that runs', async () => {
  expect(signalHandlerOf('pay')).toBeUndefined();
  await WorkflowUnderTest.start(waits);
  expect(signalHandlerOf('pay')).toBe(handler);
  expect(signalHandlerOf('other')).toBeUndefined();
});

test('Activator.interceptors.inbound has the interceptors in their order', async () => {
  await WorkflowUnderTest.start(waits);
  const own = { handleSignal: async () => undefined };
  const inbound = maybeGetActivator()?.interceptors.inbound;
  inbound?.push(own, { execute: async () => undefined });
  expect(isSeenLater(own)).toBe(false);
  inbound?.push({ handleSignal: async () => undefined });
  expect(isSeenLater(own)).toBe(true);
});

test('Activator.interceptors.inbound has those of an application beside ours', async () => {
  await WorkflowUnderTest.start(waits);
  const inbound = maybeGetActivator()?.interceptors.inbound;
  inbound?.push({ handleSignal: async () => undefined, execute: async () => undefined });
  expect(areMessagesIntercepted()).toBe(false);
  inbound?.push({ execute: async () => undefined });
  expect(areMessagesIntercepted()).toBe(false);
  inbound?.push({ handleUpdate: async () => undefined });
  expect(areMessagesIntercepted()).toBe(true);
});

test('Activator.random is the same in every task, and another one after a reset', async () => {
  expect(randomOfRun()).toBeUndefined();
  const { workflow } = await WorkflowUnderTest.start(waits);
  const first = randomOfRun();
  expect(first).toBeInstanceOf(Function);
  await workflow.task([jobs.signal('pay', 1)]);
  expect(randomOfRun()).toBe(first);
  await workflow.task([jobs.reseed()]);
  expect(randomOfRun()).not.toBe(first);
});
