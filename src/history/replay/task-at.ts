import type { temporal } from '@temporalio/proto';
import { toNumber } from '../decode/time';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/**
 * The workflow task in which the code meets an event, by the id of its started event: the one that made the event, or
 * else the first one that hears of it. Undefined where the run ended before any.
 */
export function taskAt(events: readonly HistoryEvent[], eventId: number): number | undefined {
  const at = events.findIndex((event) => toNumber(event.eventId) === eventId);
  const event = events[at];
  if (event === undefined) return undefined;
  if (isMadeByCode(event))
    return events
      .slice(0, at + 1)
      .flatMap(completedTask)
      .at(-1);
  return events.slice(at).flatMap(completedTask).at(0);
}

function completedTask({ workflowTaskCompletedEventAttributes: completed }: HistoryEvent): number[] {
  return completed ? [toNumber(completed.startedEventId)] : [];
}

/** Such events follow the end of the task whose commands they record. */
function isMadeByCode(event: HistoryEvent): boolean {
  return MADE_BY_CODE.some((name) => Boolean(event[name]));
}

const MADE_BY_CODE = [
  'activityTaskScheduledEventAttributes',
  'activityTaskCancelRequestedEventAttributes',
  'timerStartedEventAttributes',
  'timerCanceledEventAttributes',
  'markerRecordedEventAttributes',
  'upsertWorkflowSearchAttributesEventAttributes',
  'workflowPropertiesModifiedEventAttributes',
  'startChildWorkflowExecutionInitiatedEventAttributes',
  'signalExternalWorkflowExecutionInitiatedEventAttributes',
  'workflowExecutionUpdateAcceptedEventAttributes',
  'workflowExecutionUpdateCompletedEventAttributes',
  'workflowExecutionCompletedEventAttributes',
  'workflowExecutionFailedEventAttributes',
  'workflowExecutionCanceledEventAttributes',
  'workflowExecutionContinuedAsNewEventAttributes',
] as const satisfies readonly (keyof HistoryEvent)[];
