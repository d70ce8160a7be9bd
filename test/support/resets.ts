import { optionalTsToMs } from '@temporalio/common/lib/time';
import { calls, type Fixture, type TurnHandle } from './fixture';
import { eventsOf, openOf, signalDecision } from './turns';
import { until } from './until';

/** The current run of a turn; handles of a start follow the first one. */
export const current = ({ client }: Fixture, { workflowId }: { workflowId: string }): TurnHandle =>
  client.workflow.getHandle(workflowId);

export const runOf = async (handle: TurnHandle): Promise<string> => (await handle.describe()).runId;

/** The last workflow task that was completed. */
export const lastTask = async (handle: TurnHandle): Promise<number> => {
  const task = (await eventsOf(handle)).findLast((event) => event.workflowTaskCompletedEventAttributes);
  return Number(task?.eventId);
};

/** One more workflow task, so that what was taken before it is inherited by a run that is reset to it. */
export const laterTask = async (handle: TurnHandle): Promise<number> => {
  const before = await lastTask(handle);
  await signalDecision(handle, { callId: 'any' });
  await until('a later task', async () => (await lastTask(handle)) > before);
  return lastTask(handle);
};

/** The workflow task that scheduled a call: resetting to its completion takes the call back, and keeps its request. */
export const taskBefore = async (handle: TurnHandle, tool: string): Promise<string> => {
  const events = await eventsOf(handle);
  const scheduled = events.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === tool,
  );
  return String(scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId);
};

/** Waits until a call that was decided before the reset is asked about again. */
export const askedAgain = (handle: TurnHandle, callId: string) =>
  until(`${callId} to be asked about again`, async () =>
    (await openOf(handle))?.items.find(
      (item) => item.callId === callId && item.summary.includes('decided before the turn was reset'),
    ),
  );

/** How long the call that runs has beaten, as the server knows it. */
const beatenMs = async (handle: TurnHandle): Promise<number> => {
  const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
  const [start, beat] = [pending?.lastStartedTime, pending?.lastHeartbeatTime].map(optionalTsToMs);
  return (beat ?? 0) - (start ?? Infinity);
};

/** A turn whose call runs, with a workflow task after it: reset to that, the new run is given the same call again. */
export const running = async (fixture: Fixture): Promise<TurnHandle> => {
  const handle = current(fixture, await fixture.startSteps(calls('stubborn:t')));
  await fixture.effectsOf('t', 1);
  await laterTask(handle);
  await until('a second of the call', async () => (await beatenMs(handle)) >= 1000);
  return handle;
};
