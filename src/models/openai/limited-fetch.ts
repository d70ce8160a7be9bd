import { ModelError } from '../model';

/** The most a reply may have: many times what a step can hold, and little enough for a worker's memory. */
export const REPLY_BYTES = 64 * 1024 * 1024;

/** `fetch`, except that reading a body beyond the limit fails and closes the connection. */
export function limitedFetch(limit = REPLY_BYTES): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limiter(limit)), { status, statusText, headers });
  };
}

function limiter(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > limit) controller.error(tooLarge(limit));
      else controller.enqueue(chunk);
    },
  });
}

function tooLarge(limit: number): ModelError {
  return new ModelError('server', `the reply has more than ${limit} bytes`, { retryable: true });
}
