import { temporal } from '@temporalio/proto';
import { isObject } from '../../contract/json';
import type { DecodedFailure } from './events';
import type { Payloads } from './payloads';

type ProtoFailure = temporal.api.failure.v1.IFailure;

const { TimeoutType } = temporal.api.enums.v1;

/**
 * Decodes a failure with its details and causes. If the failure converter encoded its message, that is decoded, too.
 */
export async function decodeFailure(
  failure: ProtoFailure | null | undefined,
  payloads: Payloads,
): Promise<DecodedFailure> {
  if (failure === null || failure === undefined) return { message: '', kind: 'other', details: [] };
  const application = failure.applicationFailureInfo;
  const cause = failure.cause ? await decodeFailure(failure.cause, payloads) : undefined;
  return {
    message: await messageOf(failure, payloads),
    kind: kindOf(failure),
    type: application?.type || undefined,
    timeout: timeoutOf(failure),
    beaten: failure.timeoutFailureInfo?.lastHeartbeatDetails?.payloads?.length ? (true as const) : undefined,
    beat: await payloads.first(failure.timeoutFailureInfo?.lastHeartbeatDetails),
    details: await payloads.all(application?.details),
    cause,
  };
}

/** The failure at the end of the chain of causes, which is what really went wrong. */
export function rootOf(failure: DecodedFailure): DecodedFailure {
  return failure.cause === undefined ? failure : rootOf(failure.cause);
}

async function messageOf(failure: ProtoFailure, payloads: Payloads) {
  if (!failure.encodedAttributes) return failure.message ?? '';
  const attributes = await payloads.value(failure.encodedAttributes);
  const message = isObject(attributes) ? attributes['message'] : undefined;
  return typeof message === 'string' ? message : (failure.message ?? '');
}

function kindOf(failure: ProtoFailure): DecodedFailure['kind'] {
  if (failure.applicationFailureInfo) return 'application';
  if (failure.timeoutFailureInfo) return 'timeout';
  return failure.canceledFailureInfo ? 'canceled' : 'other';
}

function timeoutOf(failure: ProtoFailure): DecodedFailure['timeout'] {
  switch (failure.timeoutFailureInfo?.timeoutType) {
    case TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE:
      return 'START_TO_CLOSE';
    case TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START:
      return 'SCHEDULE_TO_START';
    case TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
      return 'SCHEDULE_TO_CLOSE';
    case TimeoutType.TIMEOUT_TYPE_HEARTBEAT:
      return 'HEARTBEAT';
    default:
      return undefined;
  }
}
