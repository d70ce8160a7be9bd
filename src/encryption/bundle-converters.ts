import { DefaultFailureConverter, defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';
import { errorMessage } from '../contract/errors';
import { noteUnreadable } from '../contract/unreadable';

/**
 * The beginning of the encoding that a worker's codec gives to refused payloads, followed by the reason. No converter
 * knows such an encoding.
 */
export const REFUSED = 'countersign/refused';
/** The beginning of that encoding for a payload that the worker could read with other settings. */
export const WAITS = 'countersign/waits';

/**
 * The payload converter of our workers and of our workflow bundle. A value that cannot be converted becomes an empty
 * object that `whyUnreadable` recognises, and nothing throws. The SDK converts the memo, failure details and heartbeat
 * details before our code runs, so an error there would fail the same task again and again.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload: <T>(
    ...[payload, context, hint]: Parameters<typeof defaultPayloadConverter.fromPayload<T>>
  ) => {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload, context, hint);
    } catch (error) {
      const why = errorMessage(error);
      const empty = defaultPayloadConverter.fromPayload<T>(defaultPayloadConverter.toPayload({}));
      return noteUnreadable(empty, { why, waits: why.includes(WAITS) });
    }
  },
};

/** A worker with keys sets this global for the failure converter in its prebuilt workflow bundle. */
const FAILURES_SWITCH = '__countersignEncodesFailures';

/** Goes in front of the bundle's code on its first line, so that the line numbers of the source map stay right. */
export const ENCODES_FAILURES = `globalThis.${FAILURES_SWITCH}=true;`;

/**
 * The failure converter in our prebuilt workflow bundle. If the worker has keys, it puts failure messages and stacks
 * into an encrypted payload. Otherwise they stay where Temporal's UI shows them.
 */
export const failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: Reflect.get(globalThis, FAILURES_SWITCH) === true,
});
