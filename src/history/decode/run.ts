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
      kind: 'started' as const,
      ...head,
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
  if (raw.workflowTaskStartedEventAttributes) return { kind: 'task_started', ...head };
  if (raw.workflowTaskCompletedEventAttributes) return { kind: 'task_completed', ...head };
  const failed = raw.workflowTaskFailedEventAttributes;
  if (!failed) return undefined;
  return decodeFailure(failed.failure, payloads).then(({ message }) => {
    if (failed.cause !== RESET) return { kind: 'task_failed', ...head, message };
    const { baseRunId, newRunId } = failed;
    return { kind: 'reset', ...head, baseRunId: baseRunId ?? '', newRunId: newRunId ?? '', message };
  });
}

function decodeEnd(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const completed = raw.workflowExecutionCompletedEventAttributes;
  if (completed)
    return payloads.first(completed.result).then((result) => ({ kind: 'completed', ...head, result }));
  const failed = raw.workflowExecutionFailedEventAttributes;
  if (failed)
    return decodeFailure(failed.failure, payloads).then((failure) => ({ kind: 'failed', ...head, failure }));
  if (raw.workflowExecutionCanceledEventAttributes) return { kind: 'canceled', ...head };
  if (raw.workflowExecutionTimedOutEventAttributes) return { kind: 'timed_out', ...head };
  const terminated = raw.workflowExecutionTerminatedEventAttributes;
  if (terminated) {
    return {
      kind: 'terminated',
      ...head,
      reason: terminated.reason ?? '',
      identity: terminated.identity ?? '',
    };
  }
  const continued = raw.workflowExecutionContinuedAsNewEventAttributes;
  if (continued) return { kind: 'continued_as_new', ...head, newRunId: continued.newExecutionRunId ?? '' };
  return undefined;
}
