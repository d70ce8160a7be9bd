import { temporal } from '@temporalio/proto';
import { defined } from '../defined';
import type { Decoding } from './events';
import { decodeFailure } from './failure';
import type { Payloads } from './payloads';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Head = { eventId: number; at: string };

const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

/** Decodes what starts and ends a run, and its workflow tasks. Undefined: the event is of another family. */
export function decodeRun(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const started = raw.workflowExecutionStartedEventAttributes;
  if (!started) return decodeTask(raw, head, payloads) ?? decodeEnd(raw, head, payloads);
  return payloads.own(started.input).then((input) =>
    defined({
      ...head,
      kind: 'started' as const,
      turn: started.workflowId ?? '',
      runId: started.originalExecutionRunId ?? '',
      continuedFrom: started.continuedExecutionRunId || undefined,
      taskQueue: started.taskQueue?.name ?? '',
      workflowType: started.workflowType?.name || undefined,
      input,
    }),
  );
}

function decodeTask(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  if (raw.workflowTaskStartedEventAttributes) return { ...head, kind: 'task_started' };
  if (raw.workflowTaskCompletedEventAttributes) return { ...head, kind: 'task_completed' };
  const failed = raw.workflowTaskFailedEventAttributes;
  if (!failed) return undefined;
  return decodeFailure(failed.failure, payloads).then(({ message }) => {
    if (failed.cause !== RESET) return { ...head, kind: 'task_failed', message };
    const { baseRunId, newRunId } = failed;
    return { ...head, kind: 'reset', baseRunId: baseRunId ?? '', newRunId: newRunId ?? '', message };
  });
}

function decodeEnd(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const completed = raw.workflowExecutionCompletedEventAttributes;
  if (completed)
    return payloads.first(completed.result).then((result) => ({ ...head, kind: 'completed', result }));
  const failed = raw.workflowExecutionFailedEventAttributes;
  if (failed)
    return decodeFailure(failed.failure, payloads).then((failure) => ({ ...head, kind: 'failed', failure }));
  if (raw.workflowExecutionCanceledEventAttributes) return { ...head, kind: 'canceled' };
  if (raw.workflowExecutionTimedOutEventAttributes) return { ...head, kind: 'timed_out' };
  const terminated = raw.workflowExecutionTerminatedEventAttributes;
  if (terminated) {
    return {
      ...head,
      kind: 'terminated',
      reason: terminated.reason ?? '',
      identity: terminated.identity ?? '',
    };
  }
  const continued = raw.workflowExecutionContinuedAsNewEventAttributes;
  if (continued) return { ...head, kind: 'continued_as_new', newRunId: continued.newExecutionRunId ?? '' };
  return undefined;
}
