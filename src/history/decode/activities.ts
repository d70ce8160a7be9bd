import type { temporal } from '@temporalio/proto';
import { isObject } from '../../contract/json';
import { defined } from '../defined';
import type { DecodedEvent, Decoding } from './events';
import { decodeFailure } from './failure';
import type { Payloads } from './payloads';
import { toNumber } from './time';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Head = { eventId: number; at: string };

/** The marker that the SDK's core records for a local activity. */
const LOCAL_ACTIVITY = 'core_local_activity';

/** Decodes activities and local activities. Undefined: the event is of another family. */
export function decodeActivity(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const scheduled = raw.activityTaskScheduledEventAttributes;
  if (!scheduled) return decodeAttempt(raw, head, payloads) ?? decodeMarker(raw, head, payloads);
  return payloads.own(scheduled.input).then((input) => ({
    kind: 'activity_scheduled',
    ...head,
    id: scheduled.activityId ?? '',
    activityType: scheduled.activityType?.name ?? '',
    taskQueue: scheduled.taskQueue?.name ?? '',
    input,
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
  return canceled ? { kind: 'activity_canceled', ...of(canceled) } : undefined;
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
  return defined({
    kind: 'local_activity' as const,
    ...head,
    activityType: String(facts['activity_type'] ?? ''),
    attempt: Number(facts['attempt'] ?? 1),
    backsOff: facts['backoff'] !== undefined && facts['backoff'] !== null,
    summary: typeof summary === 'string' ? summary : undefined,
    result: await payloads.first(details?.['result']),
    failure: failure ? await decodeFailure(failure, payloads) : undefined,
  });
}
