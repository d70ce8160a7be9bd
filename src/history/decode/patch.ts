import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { isObject } from '../../contract/json';

/** The id of the `patched()` that a marker is of; undefined for other markers, and for one that cannot be read. */
export function patchOf(marker: temporal.api.history.v1.IMarkerRecordedEventAttributes): string | undefined {
  const [payload] =
    marker.markerName === 'core_patch' ? (marker.details?.['patch-data']?.payloads ?? []) : [];
  if (!payload) return undefined;
  const data: unknown = defaultPayloadConverter.fromPayload(payload);
  return isObject(data) && typeof data['id'] === 'string' ? data['id'] : undefined;
}
