import { once } from 'node:events';
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { gunzipSync } from 'node:zlib';
import { testAddress } from './server';

/**
 * A fault on one call of the server's API. It strikes once.
 * - `before`: the server never sees the request.
 * - `after`: the server takes it, and its answer is lost.
 */
export interface Fault {
  /** Method, such as `RespondActivityTaskCompleted`. */
  method: string;
  /** Text that the request has to hold. */
  holding: string;
  when: 'before' | 'after';
  /** Done instead of answering, such as killing the worker; after it the caller is told UNAVAILABLE. */
  strike(): void;
}

/** A call of the server's API. */
export interface ProxiedCall {
  /** Such as `ListWorkflowExecutions`. */
  method: string;
  /** When it came; milliseconds of `performance.now()`. */
  at: number;
}

/** A proxy between a worker and its server that loses what it is told to lose. */
export interface FaultProxy {
  address: string;
  /** Resolves when the fault has struck. */
  arm(fault: Omit<Fault, 'strike'> & { strike?: () => void }): Promise<void>;
  /** Every call that came, in order. */
  calls: readonly ProxiedCall[];
  /** Drops every connection; new ones are taken. What a frozen worker would else do: swallow tasks with its open polls. */
  cut(): void;
  stop(): Promise<void>;
}

const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService/';

/** What the server gets instead of the message of a request, by the method of the call. */
export type Rewrites = Readonly<Record<string, (message: Buffer) => Uint8Array>>;

/** Starts a proxy in front of a server. gRPC over plain HTTP/2; everything it is not told about passes untouched. */
export async function startFaultProxy(upstream: string, rewrites: Rewrites = {}): Promise<FaultProxy> {
  const faults = new Set<Fault>();
  const sessions = new Set<ServerHttp2Session>();
  const calls: ProxiedCall[] = [];
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('stream', (_, headers) => {
      calls.push({ method: String(headers[':path']).replace(SERVICE, ''), at: performance.now() });
    });
    serve(session, upstream, { faults, rewrites });
  });
  const cut = (): void => {
    for (const session of sessions) session.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    address: `127.0.0.1:${address.port}`,
    arm: (fault) =>
      new Promise((resolve) => {
        const strike = (): void => {
          fault.strike?.();
          resolve();
        };
        faults.add({ ...fault, strike });
      }),
    calls,
    cut,
    stop: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Proxies of one test file, in front of the server of the test run; all end with it. */
export function useFaultProxies(): () => Promise<FaultProxy> {
  const proxies: FaultProxy[] = [];
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.stop())));
  return async () => {
    const proxy = await startFaultProxy(testAddress());
    proxies.push(proxy);
    return proxy;
  };
}

interface Changes {
  faults: Set<Fault>;
  rewrites: Rewrites;
}

/** One connection to the server for each of the worker; they end together. */
function serve(session: ServerHttp2Session, upstream: string, { faults, rewrites }: Changes): void {
  const client = connect(`http://${upstream}`);
  client.on('error', () => session.destroy());
  client.once('close', () => session.destroy());
  session.on('error', () => client.destroy());
  session.once('close', () => client.destroy());
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const armed = [...faults].filter(({ method }) => headers[':path'] === SERVICE + method);
    const forward = (body?: Buffer): ClientHttp2Stream =>
      openUpstream(stream, client.request(plain(headers)), body);
    const rewrite = rewrites[String(headers[':path']).replace(SERVICE, '')];
    if (rewrite !== undefined) void rewritten(stream, rewrite).then((body) => answer(stream, forward(body)));
    else if (armed.length === 0) answer(stream, forward());
    else void intercept(stream, forward, { armed, faults });
  });
}

interface Armed {
  armed: readonly Fault[];
  faults: Set<Fault>;
}

/** Reads the whole request to see whether a fault is meant for it. */
async function intercept(
  stream: ServerHttp2Stream,
  forward: (body: Buffer) => ClientHttp2Stream,
  { armed, faults }: Armed,
): Promise<void> {
  const body = Buffer.concat(await stream.toArray());
  const fault = armed.find(({ holding }) => messageIn(body).includes(holding));
  if (fault === undefined) return answer(stream, forward(body));
  faults.delete(fault);
  if (fault.when === 'after') await forward(body).resume().toArray();
  fault.strike();
  if (!stream.destroyed) stream.respond(UNAVAILABLE, { endStream: true });
}

/** The whole request, with another message in it. */
async function rewritten(stream: ServerHttp2Stream, rewrite: Rewrites[string]): Promise<Buffer> {
  const message = rewrite(messageIn(Buffer.concat(await stream.toArray())));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const PREFIX_BYTES = 5;

/** The message of a gRPC request: a flag that says whether it is compressed, its length, itself. */
function messageIn(body: Buffer): Buffer {
  const message = body.subarray(PREFIX_BYTES);
  return body[0] === 1 ? gunzipSync(message) : message;
}

const UNAVAILABLE: OutgoingHttpHeaders = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-status': '14',
  'grpc-message': 'lost by the test',
};

function openUpstream(
  stream: ServerHttp2Stream,
  upstream: ClientHttp2Stream,
  body?: Buffer,
): ClientHttp2Stream {
  upstream.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  stream.once('close', () => upstream.close(constants.NGHTTP2_CANCEL));
  if (body === undefined) stream.pipe(upstream);
  else upstream.end(body);
  return upstream;
}

/** Leads head, body and trailers of the server's answer back. */
function answer(stream: ServerHttp2Stream, upstream: ClientHttp2Stream): void {
  let trailers: OutgoingHttpHeaders = {};
  upstream.once('trailers', (received) => (trailers = plain(received)));
  upstream.once('response', (headers, flags) => {
    if (stream.destroyed) return;
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond(plain(headers), { endStream, waitForTrailers: !endStream });
    if (endStream) return;
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    upstream.pipe(stream);
  });
}

/** Headers without what belongs to one connection. */
function plain(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { connection: _, ...rest } = headers;
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
}
