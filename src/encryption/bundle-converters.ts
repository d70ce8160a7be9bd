import { DefaultFailureConverter, defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';
import { errorMessage } from '../contract/errors';
import { noteUnreadable } from '../contract/unreadable';

/** Encodings that no converter knows. */
export const ENCODINGS = {
  /** Of encrypted payloads. The converter meets it only on a worker without keys, which has no codec. */
  encrypted: 'binary/encrypted',
  /** The beginning of what a worker's codec gives to refused payloads. The reason follows. */
  refused: 'countersign/refused',
  /** The same for a payload that the worker could read with other settings. */
  waits: 'countersign/waits',
} as const;

/** The form of a key's id. */
export const KEY_ID = /^[\w.-]{1,64}$/;

/** How errors name the key of a payload. The writer of the payload chose the id: only ids that could be ours are repeated. */
export function keyNamed(id: string): string {
  return KEY_ID.test(id) ? `the key ${id}` : 'a key whose id is not valid';
}

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
      const said = errorMessage(error);
      const isEncrypted = said.includes(ENCODINGS.encrypted);
      const why = isEncrypted
        ? `a payload is encrypted with ${keyNamed(new TextDecoder().decode(payload.metadata?.['encryption-key-id']))}; no keys are set`
        : said;
      const empty = defaultPayloadConverter.fromPayload<T>(defaultPayloadConverter.toPayload({}));
      return noteUnreadable(empty, { why, waits: isEncrypted || why.includes(ENCODINGS.waits) });
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
