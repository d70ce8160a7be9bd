import type { google, temporal } from '@temporalio/proto';
import { defaultPayloadConverter } from '@temporalio/common';
import { isObject } from '../../contract/json';

/** A protobuf integer, which may be larger than a JavaScript number. */
interface LongLike {
  toNumber(): number;
}

/** A protobuf integer as a number. 0 if there is none. */
export function toNumber(value: LongLike | number | null | undefined): number {
  if (value === null || value === undefined) return 0;
  return typeof value === 'number' ? value : value.toNumber();
}

/** A protobuf timestamp as ISO 8601, cut to milliseconds. Undefined if there is none. */
export function toIso(time: google.protobuf.ITimestamp | null | undefined): string | undefined {
  if (!time) return undefined;
  return new Date(toNumber(time.seconds) * 1000 + Math.floor((time.nanos ?? 0) / 1e6)).toISOString();
}

/**
 * The id of the `patched()` that a marker records. Undefined for other markers, and for a marker that cannot be read.
 */
export function patchOf(marker: temporal.api.history.v1.IMarkerRecordedEventAttributes): string | undefined {
  const [payload] =
    marker.markerName === 'core_patch' ? (marker.details?.['patch-data']?.payloads ?? []) : [];
  if (!payload) return undefined;
  const data: unknown = defaultPayloadConverter.fromPayload(payload);
  return isObject(data) && typeof data['id'] === 'string' ? data['id'] : undefined;
}
