import type { temporal } from '@temporalio/proto';
import { isObject } from '../../contract/json';
import { defined } from '../defined';
import type { DecodedEvent } from './events';
import { decodeFailure } from './failure';
import type { Payloads } from './payloads';
import { toNumber } from './time';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Head = { eventId: number; at: string };

/** The marker that the SDK's core records for a local activity. */
const LOCAL_ACTIVITY = 'core_local_activity';

/** Decodes activities and local activities. Undefined: the event is of another family. */
export async function decodeActivity(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  const scheduled = raw.activityTaskScheduledEventAttributes;
  if (scheduled) {
    return {
      ...head,
      kind: 'activity_scheduled',
      id: scheduled.activityId ?? '',
      activityType: scheduled.activityType?.name ?? '',
      taskQueue: scheduled.taskQueue?.name ?? '',
      input: await payloads.own(scheduled.input),
    };
  }
  const ended = await decodeAttempt(raw, head, payloads);
  return ended ?? decodeLocal(raw, head, payloads);
}

async function decodeAttempt(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  const of = (attributes: { scheduledEventId?: { toNumber(): number } | null }) => ({
    ...head,
    scheduledEventId: toNumber(attributes.scheduledEventId),
  });
  const started = raw.activityTaskStartedEventAttributes;
  if (started) {
    const lastFailure = started.lastFailure ? await decodeFailure(started.lastFailure, payloads) : undefined;
    return defined({
      ...of(started),
      kind: 'activity_started' as const,
      attempt: started.attempt ?? 1,
      lastFailure,
    });
  }
  const completed = raw.activityTaskCompletedEventAttributes;
  if (completed) {
    return { ...of(completed), kind: 'activity_completed', result: await payloads.own(completed.result) };
  }
  const failed = raw.activityTaskFailedEventAttributes ?? raw.activityTaskTimedOutEventAttributes;
  if (failed) {
    return { ...of(failed), kind: 'activity_failed', failure: await decodeFailure(failed.failure, payloads) };
  }
  const canceled = raw.activityTaskCanceledEventAttributes;
  return canceled ? { ...of(canceled), kind: 'activity_canceled' } : undefined;
}

async function decodeLocal(
  raw: HistoryEvent,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent | undefined> {
  const marker = raw.markerRecordedEventAttributes;
  if (marker?.markerName !== LOCAL_ACTIVITY) return undefined;
  const data = payloads.core(marker.details?.['data']?.payloads?.[0]);
  const facts = isObject(data) ? data : {};
  const summary = await payloads.value(raw.userMetadata?.summary);
  return defined({
    ...head,
    kind: 'local_activity' as const,
    activityType: String(facts['activity_type'] ?? ''),
    attempt: Number(facts['attempt'] ?? 1),
    backsOff: facts['backoff'] !== undefined && facts['backoff'] !== null,
    summary: typeof summary === 'string' ? summary : undefined,
    result: await payloads.first(marker.details?.['result']),
    failure: marker.failure ? await decodeFailure(marker.failure, payloads) : undefined,
  });
}
