import { DefaultFailureConverter } from '@temporalio/common';

/** Puts messages and stacks of failures into a payload, so that they are encrypted too. The SDK loads it by this name. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
