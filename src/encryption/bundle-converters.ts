import { DefaultFailureConverter, defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';
import { errorMessage } from '../contract/errors';
import { noteUnreadable } from '../contract/unreadable';

/** An encoding that no converter knows. A worker's codec gives it to refused payloads, followed by the reason. */
export const REFUSED = 'countersign/refused';
/** The encoding of a refused payload that the worker could read with other settings. */
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

/** Goes before the bundle's code on its first line, so that the source map's lines stay right. */
export const ENCODES_FAILURES = `globalThis.${FAILURES_SWITCH}=true;`;

/**
 * The failure converter in our prebuilt workflow bundle. It puts failure messages and stacks into an
 * encrypted payload only where the worker has keys; otherwise they stay where Temporal's UI shows them.
 */
export const failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: Reflect.get(globalThis, FAILURES_SWITCH) === true,
});
