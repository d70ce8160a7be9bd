import type { ConnectionOptions } from '@temporalio/client';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { errorMessage } from '../contract/errors';
import { SENT_BEFORE, STATUS, wasSent } from '../history/server-errors';
import { isCounted } from './visibility';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * The SDK's retries, for errors that `isWorth` accepts. Calls to visibility that the server's limit refuses are retried
 * by our own code.
 */
export function makeRetries(isWorth: (details: string) => boolean): Interceptor {
  const usual = defaultGrpcRetryOptions();
  return (options, next) => {
    const isLimited = isCounted(options.method_definition.path);
    let isOut = false;
    const retryableDecider: typeof usual.retryableDecider = (attempt, status) => {
      const { code, details } = status;
      const passes = isLimited ? code !== STATUS.resourceExhausted : isWorth(details);
      const goesOn = passes && usual.retryableDecider(attempt, status);
      // The caller sees the last try alone.
      if (!goesOn && isOut) status.details = `${details}; ${SENT_BEFORE}`;
      isOut ||= wasSent(details);
      return goesOn;
    };
    return makeGrpcRetryInterceptor({ ...usual, retryableDecider })(options, endedByClosing(next));
  };
}

type NextCall = Parameters<Interceptor>[1];

/**
 * Makes a retry end like a cancelled call if the connection was closed. The retries of the SDK do not notice that:
 * they throw out of a timer, which would end the whole process.
 */
function endedByClosing(next: NextCall): NextCall {
  let isRetry = false;
  return (options) => {
    try {
      return next(options);
    } catch (error) {
      // The caller gets the error of a first try.
      if (!isRetry) throw error;
      return closedCall(errorMessage(error));
    } finally {
      isRetry = true;
    }
  };
}

/** A call that ends immediately, with these words. */
function closedCall(details: string): ReturnType<NextCall> {
  return {
    start: (metadata, listener) =>
      listener?.onReceiveStatus?.({ code: STATUS.cancelled, details, metadata: metadata.clone() }),
    sendMessageWithContext: () => undefined,
    sendMessage: () => undefined,
    startRead: () => undefined,
    halfClose: () => undefined,
    cancelWithStatus: () => undefined,
    getPeer: () => 'unknown',
    getAuthContext: () => null,
  };
}
