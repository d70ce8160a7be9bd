import type { coresdk } from '@temporalio/proto';
import type { HistoryEvent } from '../decode/decode';
import { patchOf, toNumber } from '../decode/proto';

type CoreCommand = coresdk.workflow_commands.IWorkflowCommand;

/** An action of workflow code. The code asks for it with a command, and history records it as an event. */
export type Command =
  | { what: 'activity'; id: string; type: string }
  | { what: 'timer' | 'timer_cancelled' | 'activity_cancelled' | 'attributes' }
  | { what: 'memo'; fields: string[] }
  | { what: 'patch'; id: string }
  | { what: 'child'; id: string; type: string }
  | { what: 'signal'; name: string }
  | { what: 'end'; how: 'completed' | 'failed' | 'cancelled' | 'continued' };

/** A command as history recorded it. */
export interface RecordedCommand {
  command: Command;
  eventId: number;
}

/**
 * The actions of the code in one completed workflow task: the id of the task's started event, and the commands in
 * order.
 */
export interface RecordedTask {
  startedId: number;
  commands: RecordedCommand[];
}

/**
 * The completed workflow tasks of a history. Local activities and updates are left out, because the time at which they
 * are recorded depends on the worker, too.
 */
export function tasksOf(events: readonly HistoryEvent[]): RecordedTask[] {
  const tasks: RecordedTask[] = [];
  for (const event of events) {
    const completed = event.workflowTaskCompletedEventAttributes;
    if (completed) tasks.push({ startedId: toNumber(completed.startedEventId), commands: [] });
    const command = commandIn(event);
    if (command !== undefined) tasks.at(-1)?.commands.push({ command, eventId: toNumber(event.eventId) });
  }
  return tasks;
}

function commandIn(event: HistoryEvent): Command | undefined {
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
  if (marker) return patchCommand(patchOf(marker));
  return plainCommandIn(event) ?? endOfEvent(event);
}

function patchCommand(id: string | undefined): Command | undefined {
  return id === undefined ? undefined : { what: 'patch', id };
}

function plainCommandIn(event: HistoryEvent): Command | undefined {
  if (event.timerStartedEventAttributes) return { what: 'timer' };
  if (event.timerCanceledEventAttributes) return { what: 'timer_cancelled' };
  if (event.activityTaskCancelRequestedEventAttributes) return { what: 'activity_cancelled' };
  const attributes = event.upsertWorkflowSearchAttributesEventAttributes;
  if (!attributes) return undefined;
  const names = Object.keys(attributes.searchAttributes?.indexedFields ?? {});
  // For each patch, the SDK's core itself writes such a command.
  const isCores = names.length > 0 && names.every((name) => name === 'TemporalChangeVersion');
  return isCores ? undefined : { what: 'attributes' };
}

function endOfEvent(event: HistoryEvent): Command | undefined {
  if (event.workflowExecutionCompletedEventAttributes) return { what: 'end', how: 'completed' };
  if (event.workflowExecutionFailedEventAttributes) return { what: 'end', how: 'failed' };
  if (event.workflowExecutionCanceledEventAttributes) return { what: 'end', how: 'cancelled' };
  return event.workflowExecutionContinuedAsNewEventAttributes ? { what: 'end', how: 'continued' } : undefined;
}

/**
 * The commands of code in one workflow task, in the form that history would have. A timer that is started and cancelled
 * in the same task leaves no event.
 */
export function commandsOf(commands: readonly CoreCommand[]): Command[] {
  const cancelled = new Set(
    commands.flatMap(({ cancelTimer }) => (cancelTimer ? [toNumber(cancelTimer.seq)] : [])),
  );
  const started = new Set(
    commands.flatMap(({ startTimer }) => (startTimer ? [toNumber(startTimer.seq)] : [])),
  );
  return commands.flatMap((command) => {
    if (command.startTimer && cancelled.has(toNumber(command.startTimer.seq))) return [];
    if (command.cancelTimer && started.has(toNumber(command.cancelTimer.seq))) return [];
    return commandOf(command) ?? [];
  });
}

function commandOf(command: CoreCommand): Command | undefined {
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

function endOfCommand(command: CoreCommand): Command | undefined {
  if (command.completeWorkflowExecution) return { what: 'end', how: 'completed' };
  if (command.failWorkflowExecution) return { what: 'end', how: 'failed' };
  if (command.cancelWorkflowExecution) return { what: 'end', how: 'cancelled' };
  return command.continueAsNewWorkflowExecution ? { what: 'end', how: 'continued' } : undefined;
}

/** Whether history and code did the same, by what Temporal compares. */
export function isSame(one: Command, other: Command): boolean {
  if (one.what === 'activity' && other.what === 'activity')
    return one.id === other.id && one.type === other.type;
  if (one.what === 'child' && other.what === 'child') return one.id === other.id && one.type === other.type;
  if (one.what === 'patch' && other.what === 'patch') return one.id === other.id;
  if (one.what === 'end' && other.what === 'end') return one.how === other.how;
  return one.what === other.what;
}
