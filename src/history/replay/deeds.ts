import type { coresdk, temporal } from '@temporalio/proto';
import { patchOf } from '../decode/patch';
import { toNumber } from '../decode/time';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Command = coresdk.workflow_commands.IWorkflowCommand;

/** One thing that workflow code does: what history records as an event, and code asks for as a command. */
export type Deed =
  | { what: 'activity'; id: string; type: string }
  | { what: 'timer' | 'timer_cancelled' | 'activity_cancelled' | 'attributes' }
  | { what: 'memo'; fields: string[] }
  | { what: 'patch'; id: string }
  | { what: 'child'; id: string; type: string }
  | { what: 'signal'; name: string }
  | { what: 'end'; how: 'completed' | 'failed' | 'cancelled' | 'continued' };

/** A deed as history has it. */
export interface RecordedDeed {
  deed: Deed;
  eventId: number;
}

/** What the code did in one workflow task that is over: the id of its started event, and its deeds in order. */
export interface RecordedTask {
  startedId: number;
  deeds: RecordedDeed[];
}

/**
 * The tasks of a history that were completed. Local activities and updates are left out: when they are recorded depends
 * on the worker that ran them, not on the code alone.
 */
export function tasksOf(events: readonly HistoryEvent[]): RecordedTask[] {
  const tasks: RecordedTask[] = [];
  for (const event of events) {
    const completed = event.workflowTaskCompletedEventAttributes;
    if (completed) tasks.push({ startedId: toNumber(completed.startedEventId), deeds: [] });
    const deed = deedOfEvent(event);
    if (deed !== undefined) tasks.at(-1)?.deeds.push({ deed, eventId: toNumber(event.eventId) });
  }
  return tasks;
}

function deedOfEvent(event: HistoryEvent): Deed | undefined {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled)
    return { what: 'activity', id: scheduled.activityId ?? '', type: scheduled.activityType?.name ?? '' };
  const memo = event.workflowPropertiesModifiedEventAttributes;
  if (memo) return { what: 'memo', fields: Object.keys(memo.upsertedMemo?.fields ?? {}) };
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (child) return { what: 'child', id: child.workflowId ?? '', type: child.workflowType?.name ?? '' };
  const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  if (signal) return { what: 'signal', name: signal.signalName ?? '' };
  const marker = event.markerRecordedEventAttributes;
  if (marker) return patchDeed(patchOf(marker));
  return plainDeedOfEvent(event) ?? endOfEvent(event);
}

function patchDeed(id: string | undefined): Deed | undefined {
  return id === undefined ? undefined : { what: 'patch', id };
}

function plainDeedOfEvent(event: HistoryEvent): Deed | undefined {
  if (event.timerStartedEventAttributes) return { what: 'timer' };
  if (event.timerCanceledEventAttributes) return { what: 'timer_cancelled' };
  if (event.activityTaskCancelRequestedEventAttributes) return { what: 'activity_cancelled' };
  const attributes = event.upsertWorkflowSearchAttributesEventAttributes;
  if (!attributes) return undefined;
  const names = Object.keys(attributes.searchAttributes?.indexedFields ?? {});
  // The SDK's core writes these by itself for each patch.
  const isCores = names.length > 0 && names.every((name) => name === 'TemporalChangeVersion');
  return isCores ? undefined : { what: 'attributes' };
}

function endOfEvent(event: HistoryEvent): Deed | undefined {
  if (event.workflowExecutionCompletedEventAttributes) return { what: 'end', how: 'completed' };
  if (event.workflowExecutionFailedEventAttributes) return { what: 'end', how: 'failed' };
  if (event.workflowExecutionCanceledEventAttributes) return { what: 'end', how: 'cancelled' };
  return event.workflowExecutionContinuedAsNewEventAttributes ? { what: 'end', how: 'continued' } : undefined;
}

/**
 * What code asks for in one workflow task, in the form that history would have it. What is started and taken back in
 * the same task leaves no event.
 */
export function deedsOfCommands(commands: readonly Command[]): Deed[] {
  const cancelled = new Set(
    commands.flatMap(({ cancelTimer }) => (cancelTimer ? [toNumber(cancelTimer.seq)] : [])),
  );
  const started = new Set(
    commands.flatMap(({ startTimer }) => (startTimer ? [toNumber(startTimer.seq)] : [])),
  );
  return commands.flatMap((command) => {
    if (command.startTimer && cancelled.has(toNumber(command.startTimer.seq))) return [];
    if (command.cancelTimer && started.has(toNumber(command.cancelTimer.seq))) return [];
    return deedOfCommand(command) ?? [];
  });
}

function deedOfCommand(command: Command): Deed | undefined {
  const { scheduleActivity, modifyWorkflowProperties, startChildWorkflowExecution: child } = command;
  if (scheduleActivity)
    return {
      what: 'activity',
      id: scheduleActivity.activityId ?? '',
      type: scheduleActivity.activityType ?? '',
    };
  if (modifyWorkflowProperties)
    return { what: 'memo', fields: Object.keys(modifyWorkflowProperties.upsertedMemo?.fields ?? {}) };
  if (child) return { what: 'child', id: child.workflowId ?? '', type: child.workflowType ?? '' };
  if (command.signalExternalWorkflowExecution)
    return { what: 'signal', name: command.signalExternalWorkflowExecution.signalName ?? '' };
  if (command.setPatchMarker) return { what: 'patch', id: command.setPatchMarker.patchId ?? '' };
  if (command.startTimer) return { what: 'timer' };
  if (command.cancelTimer) return { what: 'timer_cancelled' };
  if (command.requestCancelActivity) return { what: 'activity_cancelled' };
  if (command.upsertWorkflowSearchAttributes) return { what: 'attributes' };
  return endOfCommand(command);
}

function endOfCommand(command: Command): Deed | undefined {
  if (command.completeWorkflowExecution) return { what: 'end', how: 'completed' };
  if (command.failWorkflowExecution) return { what: 'end', how: 'failed' };
  if (command.cancelWorkflowExecution) return { what: 'end', how: 'cancelled' };
  return command.continueAsNewWorkflowExecution ? { what: 'end', how: 'continued' } : undefined;
}

/** Whether history and code did the same, as far as Temporal compares it. */
export function isSame(one: Deed, other: Deed): boolean {
  if (one.what === 'activity' && other.what === 'activity')
    return one.id === other.id && one.type === other.type;
  if (one.what === 'child' && other.what === 'child') return one.id === other.id && one.type === other.type;
  if (one.what === 'patch' && other.what === 'patch') return one.id === other.id;
  if (one.what === 'end' && other.what === 'end') return one.how === other.how;
  return one.what === other.what;
}
