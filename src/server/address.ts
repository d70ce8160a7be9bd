import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Env, Hono } from 'hono';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';

/** Where the web inbox listens, and how long a request may take to arrive. */
export interface ListenOptions {
  host: string;
  /** @default 7243, or a free port if 7243 is taken */
  port?: number;
  /** The times within which a request must arrive. */
  timeouts?: Partial<typeof TIMEOUTS>;
}

const PORT = 7243;

/** The longest times that a request may take to arrive, in milliseconds. A slower request would hold a socket. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  /** The time for a request with a file, because a file may come over a slow line. */
  fileTimeout: 180_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
} satisfies ServerOptions & { fileTimeout: number };

/** The most open connections. The browsers of one web inbox open fewer. */
const MAX_CONNECTIONS = 1_000;
/** The time that unfinished answers get after the server is stopped, in milliseconds. */
const DRAIN_MS = 2_000;
const IDLE_CHECK_MS = 20;

/** A server that listens, but does not answer yet. */
interface Listening {
  port: number;
  /** Starts answering. */
  serve<E extends Env>(app: Hono<E>): void;
  /** Takes no new requests, lets unfinished answers end, and closes the port. */
  close(): Promise<void>;
}

/**
 * Opens the port.
 *
 * @throws CountersignError `usage` if the port is taken.
 */
export async function listen({ host, port, timeouts }: ListenOptions): Promise<Listening> {
  const { requestTimeout, fileTimeout, ...others } = { ...TIMEOUTS, ...timeouts };
  // Node applies the longer of the two times to all requests. `cutAfter` applies the shorter time to requests without a
  // file.
  const server = createServer({ ...others, requestTimeout: fileTimeout });
  server.maxConnections = MAX_CONNECTIONS;
  await openPort(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return {
    port: address.port,
    serve: (app) => {
      const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
      server.on('request', (request, response) => {
        if (!/\/api\/files(\?|$)/.test(request.url ?? '')) cutAfter(requestTimeout, request);
        void answer(request, response);
      });
    },
    close: () => closeServer(server),
  };
}

/** Ends a request whose body is not complete after `ms` milliseconds. */
function cutAfter(ms: number, request: IncomingMessage) {
  const timer = setTimeout(() => void (request.complete || request.destroy()), ms).unref();
  request.once('close', () => clearTimeout(timer));
}

async function openPort(server: Server, host: string, port: number | undefined) {
  try {
    await listenOn(server, host, port ?? PORT);
  } catch (error) {
    const code = isObject(error) ? error['code'] : undefined;
    if (code !== 'EADDRINUSE') throw cannotListen(host, String(code));
    if (port !== undefined) throw cannotListen(`${host}:${port}`, 'the port is taken');
    await listenOn(server, host, 0);
  }
}

async function listenOn(server: Server, host: string, port: number) {
  server.listen(port, host.replace(/^\[|\]$/g, ''));
  await once(server, 'listening');
}

function cannotListen(place: string, why: string) {
  return new CountersignError(
    'usage',
    `the web inbox cannot listen on ${place}: ${why}`,
    'choose another one with --port and --host',
  );
}

async function closeServer(server: Server) {
  const closed = new Promise((resolve) => server.close(resolve));
  // A stream that ends leaves its connection open and idle.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const drained = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(drained);
}

/**
 * The path under which the web inbox is served: it begins with a slash and does not end with one. Empty: the root.
 *
 * @throws CountersignError `usage` for a path of another form.
 */
export function readBasePath(path = ''): string {
  const base = path.replace(/\/+$/, '');
  if (/^(\/[A-Za-z0-9._~-]+)*$/.test(base) && !/(^|\/)\.\.?(\/|$)/.test(base)) return base;
  throw new CountersignError('usage', `${path} is not the path of a web inbox`, 'write it as /countersign');
}

/** A path without the one under which the web inbox is served. A proxy may have taken that away already. */
export function pathUnder(base: string, path: string): string {
  return base !== '' && path.startsWith(`${base}/`) ? path.slice(base.length) : path;
}

/** An address as it is written in a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
