import type { FetchLike, Transport } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };
import { UNREACHED } from '../../contract/network-errors';
import { outgoingFetch, proxyFault } from '../../system/proxies';
import { TransportError } from '../errors';
import { limitAnswers } from './limit-answers';
import { ANSWER_LOST } from './result';

/** The address of a server, and how to send requests to it. */
interface Address {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Adds the token of a login. @default adds nothing */
  authorize?(base: FetchLike): FetchLike;
}

/** The part of the client library that makes a transport. */
interface HttpLibrary {
  StreamableHTTPClientTransport: new (
    url: URL,
    options: {
      requestInit: { headers: Record<string, string> };
      fetch: FetchLike;
      redirectPolicy: 'same-origin';
    },
  ) => Transport;
}

/** The most bytes of an answer or of an event in a stream: as for a line on a server's standard output. */
const MESSAGE_BYTES = 10 * 1024 * 1024;

/**
 * A connection over streamable HTTP. Headers go to this origin only: a redirect to another origin is refused. An answer
 * that is too long ends with an error. A request that reached no server rejects with a TransportError that proves this.
 */
export function httpTransport(
  { url, headers, authorize = (base) => base }: Address,
  library: HttpLibrary,
): Transport {
  const transport = new library.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: authorize(boundedFetch(outgoingFetch)),
    redirectPolicy: 'same-origin',
  });
  endLostRequests(transport);
  limitAnswers(transport);
  return transport;
}

/**
 * Ends a request as soon as its stream ends without an answer and the library cannot resume it. The library reports
 * this end to its transport only, so the request would otherwise wait without end. An answered request ignores this.
 */
function endLostRequests(transport: Transport) {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const error = { code: ANSWER_LOST, message: 'the connection ended before the answer came' };
    const onRequestStreamEnd = () => transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    return send(message, { ...options, onRequestStreamEnd });
  };
}

/** A `fetch` with a limit for the size of bodies. */
export function boundedFetch(base: FetchLike, most = MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await base(url, init).catch((error: unknown) => {
      throw toUnreached(error);
    });
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const body = response.body.pipeThrough(bound(most, isStream));
    return new Response(body, response);
  };
}

function toUnreached(error: unknown) {
  if (!isUnreached(error)) return error;
  const message = proxyFault(error)?.message ?? 'the MCP server cannot be reached';
  return new TransportError(message, { nothingSent: true, cause: error });
}

/** Limits the bytes of a body; in a stream, the bytes of each event. An event ends with an empty line. */
function bound(most: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? endOfEvents(chunk) : 0;
      bytes = end > 0 ? chunk.length - end : bytes + chunk.length;
      if (bytes > most) controller.error(new Error(`the MCP server sent more than ${most} bytes at once`));
      else controller.enqueue(chunk);
    },
  });
}

const LF = 10;
const CR = 13;

/** The position after the last event that ends in a chunk; 0 if no event ends in it. */
function endOfEvents(chunk: Uint8Array) {
  for (let at = chunk.length - 1; at > 0; at--) {
    const [before, here] = [chunk[at - 1], chunk[at]];
    const isEmptyLine = here === LF && (before === LF || (before === CR && chunk[at - 2] === LF));
    if (isEmptyLine || (here === CR && before === CR)) return at + 1;
  }
  return 0;
}

/** Whether an error of `fetch` says that the other side was never reached, so that it cannot have acted. */
function isUnreached(error: unknown) {
  const cause = error instanceof Error ? error.cause : undefined;
  const errors = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.length > 0 && errors.every((one) => UNREACHED.includes(codeOf(one)));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}
