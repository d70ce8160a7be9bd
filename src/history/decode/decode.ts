import {
  defaultDataConverter,
  type LoadedDataConverter,
  type SerializationContext,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { isObject, parseJson } from '../../contract/json';
import { GATE_HEADER } from '../../contract/gate';
import { SCHEDULED_BY } from '../../contract/names';
import type { DecodedEvent, Decoding } from './events';
import type { ChildEnd } from '../../contract/turn';
import { decodeFailure } from './failure';
import { childIn, ownerIn, Payloads } from './payloads';
import { toIso, toNumber } from './proto';

/** One event as the server or an exported history gives it. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

type Head = { eventId: number; at: string };

/**
 * Decodes one event. Returns a promise only if the event has payloads. `owner` is the workflow of the event, because
 * a codec may have bound the payloads to it.
 */
export type Decode = (
  raw: HistoryEvent,
  owner?: SerializationContext,
) => DecodedEvent | Promise<DecodedEvent>;

/**
 * Makes a decoder for the payloads of one data converter, codecs included. A payload that cannot be decoded becomes
 * `undefined`. The decoder throws only if a key is missing for a payload that only starters and workers write:
 * otherwise every turn would look empty.
 */
export function makeDecode(converter: LoadedDataConverter = defaultDataConverter): Decode {
  return (raw, owner) => {
    // `head` is spread after `kind`, never first. See `headOf` of the fold.
    const head = { eventId: toNumber(raw.eventId), at: toIso(raw.eventTime) ?? new Date(0).toISOString() };
    // A quarter of every history are these events, which hold nothing, so they are decoded here first.
    if (raw.workflowTaskScheduledEventAttributes) return { kind: 'task_scheduled', ...head };
    const payloads = new Payloads(converter, owner);
    return (
      decodeRun(raw, head, payloads) ??
      decodeActivity(raw, head, payloads) ??
      decodeMessage(raw, head, payloads) ??
      decodeChild(raw, head, { converter, owner }) ?? { kind: 'other', ...head }
    );
  };
}

const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

/** Whether a reset made this event. It names the run before the reset and the run that it made. */
export function isReset({ workflowTaskFailedEventAttributes: failed }: HistoryEvent): boolean {
  return failed?.cause === RESET;
}

/**
 * Decodes the events that start and end a run, and the events of its workflow tasks. Undefined: the event is of another
 * family.
 */
function decodeRun(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const started = raw.workflowExecutionStartedEventAttributes;
  if (!started) return decodeTask(raw, head, payloads) ?? decodeEnd(raw, head, payloads);
  return payloads.own(started.input).then((input) => ({
    kind: 'started' as const,
    ...head,
    turn: started.workflowId ?? '',
    runId: started.originalExecutionRunId ?? '',
    continuedFrom: started.continuedExecutionRunId || undefined,
    taskQueue: started.taskQueue?.name ?? '',
    workflowType: started.workflowType?.name || undefined,
    schedule: scheduleOf(started.searchAttributes?.indexedFields?.[SCHEDULED_BY]?.data),
    input,
  }));
}

/** The schedule in a search attribute, which is always plain JSON, even if payloads are encoded in another way. */
function scheduleOf(data: Uint8Array | null | undefined) {
  const value = data == null ? undefined : parseJson(Buffer.from(data).toString());
  return typeof value === 'string' && value !== '' ? value : undefined;
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

/** The marker that the SDK's core records for a local activity. */
const LOCAL_ACTIVITY = 'core_local_activity';

/** Decodes activities and local activities. Undefined: the event is of another family. */
function decodeActivity(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const scheduled = raw.activityTaskScheduledEventAttributes;
  if (!scheduled) return decodeAttempt(raw, head, payloads) ?? decodeMarker(raw, head, payloads);
  return payloads.own(scheduled.input).then((input) => ({
    kind: 'activity_scheduled',
    ...head,
    id: scheduled.activityId ?? '',
    activityType: scheduled.activityType?.name ?? '',
    taskQueue: scheduled.taskQueue?.name ?? '',
    input,
    gate: payloads.core(scheduled.header?.fields?.[GATE_HEADER]),
  }));
}

function decodeAttempt(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const of = (attributes: { scheduledEventId?: { toNumber(): number } | null }) => ({
    scheduledEventId: toNumber(attributes.scheduledEventId),
    ...head,
  });
  const started = raw.activityTaskStartedEventAttributes;
  if (started) {
    const event = { kind: 'activity_started', ...of(started), attempt: started.attempt ?? 1 } as const;
    if (!started.lastFailure) return event;
    return decodeFailure(started.lastFailure, payloads).then((lastFailure) => ({ ...event, lastFailure }));
  }
  const completed = raw.activityTaskCompletedEventAttributes;
  if (completed) {
    return payloads
      .own(completed.result)
      .then((result) => ({ kind: 'activity_completed', ...of(completed), result }));
  }
  const failed = raw.activityTaskFailedEventAttributes ?? raw.activityTaskTimedOutEventAttributes;
  if (failed) {
    return decodeFailure(failed.failure, payloads).then((failure) => ({
      kind: 'activity_failed',
      ...of(failed),
      failure,
    }));
  }
  const canceled = raw.activityTaskCanceledEventAttributes;
  if (!canceled) return undefined;
  return { kind: 'activity_canceled', ...of(canceled), untaken: toNumber(canceled.startedEventId) === 0 };
}

function decodeMarker(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const isLocal = raw.markerRecordedEventAttributes?.markerName === LOCAL_ACTIVITY;
  return isLocal ? decodeLocal(raw, head, payloads) : undefined;
}

async function decodeLocal(raw: HistoryEvent, head: Head, payloads: Payloads): Promise<DecodedEvent> {
  const { details, failure } = raw.markerRecordedEventAttributes ?? {};
  const data = payloads.core(details?.['data']?.payloads?.[0]);
  const facts = isObject(data) ? data : {};
  const summary = await payloads.value(raw.userMetadata?.summary);
  return {
    kind: 'local_activity' as const,
    ...head,
    activityType: String(facts['activity_type'] ?? ''),
    attempt: Number(facts['attempt'] ?? 1),
    backsOff: facts['backoff'] !== undefined && facts['backoff'] !== null,
    summary: typeof summary === 'string' ? summary : undefined,
    result: await payloads.first(details?.['result']),
    failure: failure ? await decodeFailure(failure, payloads) : undefined,
  };
}

/** Decodes the events of child workflows. */
function decodeChild(
  raw: HistoryEvent,
  head: Head,
  { converter, owner }: { converter: LoadedDataConverter; owner: SerializationContext | undefined },
): Decoding {
  const refused = raw.startChildWorkflowExecutionFailedEventAttributes;
  if (refused) return { kind: 'child_not_started', ...head, child: refused.workflowId ?? '' };
  const child = childIn(raw);
  if (child === undefined) return undefined;
  if (raw.childWorkflowExecutionStartedEventAttributes) return { kind: 'child_started', ...head, child };
  const payloads = new Payloads(converter, owner && ownerIn(raw, owner));
  const asked = raw.startChildWorkflowExecutionInitiatedEventAttributes;
  if (asked)
    return payloads.first(asked.input).then((input) => ({ kind: 'child_initiated', ...head, child, input }));
  return endOfChild(raw, payloads).then((end) => ({ kind: 'child_ended', ...head, child, end }));
}

async function endOfChild(raw: HistoryEvent, payloads: Payloads): Promise<ChildEnd> {
  const completed = raw.childWorkflowExecutionCompletedEventAttributes;
  if (completed) return { kind: 'completed', result: await payloads.first(completed.result) };
  const failed = raw.childWorkflowExecutionFailedEventAttributes;
  if (failed) {
    const { message } = await decodeFailure(failed.failure, payloads);
    return { kind: 'failed', message };
  }
  if (raw.childWorkflowExecutionCanceledEventAttributes) return { kind: 'cancelled' };
  return { kind: raw.childWorkflowExecutionTimedOutEventAttributes ? 'timed_out' : 'terminated' };
}

/** Decodes the events of messages from outside (signals, updates, cancellation) and of the memo. */
function decodeMessage(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const signaled = raw.workflowExecutionSignaledEventAttributes;
  if (signaled) {
    const { signalName, identity } = signaled;
    return payloads.first(signaled.input).then((input) => ({
      kind: 'signaled',
      ...head,
      name: signalName ?? '',
      input,
      identity: identity ?? '',
    }));
  }
  const cancel = raw.workflowExecutionCancelRequestedEventAttributes;
  if (cancel) {
    const reason = cancel.cause || undefined;
    return { kind: 'cancel_requested' as const, ...head, identity: cancel.identity ?? '', reason };
  }
  const memo = raw.workflowPropertiesModifiedEventAttributes?.upsertedMemo;
  if (memo) return payloads.map(memo.fields).then((fields) => ({ kind: 'memo', ...head, fields }));
  return decodeUpdate(raw, head, payloads);
}

function decodeUpdate(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const admitted = raw.workflowExecutionUpdateAdmittedEventAttributes;
  if (admitted)
    return decodeRequest(admitted.request, payloads).then((request) => ({
      kind: 'update_admitted',
      ...head,
      ...request,
    }));
  const accepted = raw.workflowExecutionUpdateAcceptedEventAttributes;
  if (accepted)
    return decodeRequest(accepted.acceptedRequest, payloads).then((request) => ({
      kind: 'update_accepted',
      ...head,
      ...request,
      updateId: request.updateId || (accepted.protocolInstanceId ?? ''),
    }));
  const completed = raw.workflowExecutionUpdateCompletedEventAttributes;
  return completed ? decodeVerdict(completed, head, payloads) : undefined;
}

async function decodeRequest(
  request: temporal.api.update.v1.IRequest | null | undefined,
  payloads: Payloads,
) {
  const { meta, input } = request ?? {};
  return {
    updateId: meta?.updateId ?? '',
    name: input?.name ?? '',
    input: await payloads.first(input?.args),
    identity: meta?.identity ?? '',
  };
}

async function decodeVerdict(
  completed: temporal.api.history.v1.IWorkflowExecutionUpdateCompletedEventAttributes,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent> {
  const { success, failure } = completed.outcome ?? {};
  return {
    kind: 'update_completed' as const,
    ...head,
    updateId: completed.meta?.updateId ?? '',
    value: await payloads.first(success),
    failure: failure ? await decodeFailure(failure, payloads) : undefined,
  };
}

/** A history as the server keeps it. Its payloads are not decoded. */
export type History = temporal.api.history.v1.IHistory;
