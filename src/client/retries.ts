import type { ConnectionOptions } from '@temporalio/client';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { errorMessage } from '../contract/errors';
import { STATUS } from '../history/server-errors';
import { isCounted } from './visibility';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * The SDK's retries, for errors that `isWorth` accepts. Calls to visibility that the server's limit refuses are retried
 * by our own code.
 */
export function makeRetries(isWorth: (details: string) => boolean): Interceptor {
  const usual = defaultGrpcRetryOptions();
  const retryIf = (passes: ReturnType<typeof defaultGrpcRetryOptions>['retryableDecider']): Interceptor =>
    makeGrpcRetryInterceptor({ ...usual, retryableDecider: passes });
  const all = retryIf(
    (attempt, status) => isWorth(status.details) && usual.retryableDecider(attempt, status),
  );
  const unlimited = retryIf(
    (attempt, status) => status.code !== STATUS.resourceExhausted && usual.retryableDecider(attempt, status),
  );
  return (options, next) =>
    (isCounted(options.method_definition.path) ? unlimited : all)(options, endedByClosing(next));
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
