import { temporal } from '@temporalio/proto';
import { defined } from '../defined';
import type { DecodedEvent } from './events';
import { decodeFailure } from './failure';
import type { Payloads } from './payloads';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Head = { eventId: number; at: string };

const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

/** Decodes what starts and ends a run, and its workflow tasks. Undefined: the event is of another family. */
export async function decodeRun(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  const started = raw.workflowExecutionStartedEventAttributes;
  if (started) {
    return defined({
      ...head,
      kind: 'started' as const,
      turn: started.workflowId ?? '',
      runId: started.originalExecutionRunId ?? '',
      continuedFrom: started.continuedExecutionRunId || undefined,
      taskQueue: started.taskQueue?.name ?? '',
      workflowType: started.workflowType?.name || undefined,
      input: await payloads.own(started.input),
    });
  }
  return (await decodeTask(raw, head, payloads)) ?? decodeEnd(raw, head, payloads);
}

async function decodeTask(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  if (raw.workflowTaskStartedEventAttributes) return { ...head, kind: 'task_started' };
  if (raw.workflowTaskCompletedEventAttributes) return { ...head, kind: 'task_completed' };
  const failed = raw.workflowTaskFailedEventAttributes;
  if (!failed) return undefined;
  const { message } = await decodeFailure(failed.failure, payloads);
  if (failed.cause !== RESET) return { ...head, kind: 'task_failed', message };
  return {
    ...head,
    kind: 'reset',
    baseRunId: failed.baseRunId ?? '',
    newRunId: failed.newRunId ?? '',
    message,
  };
}

async function decodeEnd(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  const completed = raw.workflowExecutionCompletedEventAttributes;
  if (completed) return { ...head, kind: 'completed', result: await payloads.first(completed.result) };
  const failed = raw.workflowExecutionFailedEventAttributes;
  if (failed) return { ...head, kind: 'failed', failure: await decodeFailure(failed.failure, payloads) };
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
