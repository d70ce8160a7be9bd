import { DefaultFailureConverter } from '@temporalio/common';
import { SWITCH } from './sandbox-switch';

/**
 * The failure converter in our prebuilt workflow bundle. Only where its worker has keys, messages and stacks of failures go
 * into a payload: unencrypted, they stay where Temporal's own UI shows them.
 */
export const failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: Reflect.get(globalThis, SWITCH) === true,
});
