import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Context, Env, Hono, MiddlewareHandler } from 'hono';
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
export interface Listening {
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
        if (!/^\/api\/files(\?|$)/.test(request.url ?? '')) cutAfter(requestTimeout, request);
        void answer(request, response);
      });
    },
    close: () => closeServer(server),
  };
}

/** Ends a request whose body is not complete after `ms` milliseconds. */
function cutAfter(ms: number, request: IncomingMessage): void {
  const timer = setTimeout(() => void (request.complete || request.destroy()), ms).unref();
  request.once('close', () => clearTimeout(timer));
}

async function openPort(server: Server, host: string, port: number | undefined): Promise<void> {
  try {
    await listenOn(server, host, port ?? PORT);
  } catch (error) {
    const code = isObject(error) ? error['code'] : undefined;
    if (code !== 'EADDRINUSE') throw cannotListen(host, String(code));
    if (port !== undefined) throw cannotListen(`${host}:${port}`, 'the port is taken');
    await listenOn(server, host, 0);
  }
}

async function listenOn(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host.replace(/^\[|\]$/g, ''));
  await once(server, 'listening');
}

function cannotListen(place: string, why: string): CountersignError {
  return new CountersignError('usage', `the web inbox cannot listen on ${place}: ${why}`, {
    hint: 'choose another one with --port and --host',
  });
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A stream that ends leaves its connection open and idle.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const drained = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(drained);
}

/** Methods that another site may use, but only to link to the page. The page shows nothing without a cookie. */
const READS = ['GET', 'HEAD'];

/**
 * Accepts only requests from our own page, from the address bar, and from programs that are not browsers. `header`
 * names a header that a reverse proxy adds to every request of a browser. Like a cookie, it identifies the user.
 *
 * @throws CountersignError `forbidden`.
 */
export function requireOwnOrigin(hosts: Hosts, header?: string): MiddlewareHandler {
  return async (c, next) => {
    const why = findStranger(c, hosts, header);
    if (why !== undefined) throw forbidden(why);
    await next();
  };
}

function findStranger(c: Context, hosts: Hosts, header: string | undefined): string | undefined {
  const host = c.req.header('host') ?? '';
  if (!hosts.knows(host)) return `${JSON.stringify(host)} is not a name of this web inbox`;
  const origin = c.req.header('origin');
  if (origin !== undefined && !isOwn(origin, host)) return 'a page of another origin asks';
  if (isFromOtherSite(c)) return 'another site asks';
  return origin === undefined && isBlindWrite(c, header)
    ? 'a change by cookie or through a proxy has to name its origin'
    : undefined;
}

/**
 * Whether an origin is our own. Host name and port must equal the host name and port of the request. The scheme may
 * differ, because a proxy may change it.
 */
function isOwn(origin: string, host: string): boolean {
  return [`http://${host}`, `https://${host}`].includes(origin);
}

function isFromOtherSite(c: Context): boolean {
  const site = c.req.header('sec-fetch-site') ?? 'none';
  if (site === 'same-origin' || site === 'none') return false;
  const followsLink =
    c.req.header('sec-fetch-mode') === 'navigate' && c.req.header('sec-fetch-dest') === 'document';
  return !(followsLink && READS.includes(c.req.method) && !c.req.path.startsWith('/api/'));
}

/**
 * Whether a write has no origin although a browser may have sent it. Browsers name the origin of every write, and a
 * request with a bearer token does not come from a browser.
 */
function isBlindWrite(c: Context, header: string | undefined): boolean {
  const isAsserted = header !== undefined && c.req.header(header) !== undefined;
  return !READS.includes(c.req.method) && (isAsserted || c.req.header('cookie') !== undefined);
}

function forbidden(why: string): CountersignError {
  return new CountersignError('forbidden', `refused: ${why}`, {
    hint: 'open the address that countersign printed; behind a proxy name it with --allow-host',
  });
}

/** The host names under which the web inbox is known. */
export interface Hosts {
  /** Whether this value of a `Host` header is a name of this web inbox. */
  knows(host: string): boolean;
}

/** Where the web inbox listens, and its other names. */
interface ListenAddress {
  /** The address on which the web inbox listens. */
  host: string;
  port: number;
  /** Names of a reverse proxy, each with its port unless that is the default port of the scheme. */
  allowHosts: readonly string[];
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
/** Addresses that stand for every address of the machine. None of them is a host name. */
const EVERYWHERE = ['0.0.0.0', '::', '[::]'];

/**
 * The host names of a listen address. Any other name is refused, because a foreign page can point its own name at this
 * machine.
 */
export function createHosts({ host, port, allowHosts }: ListenAddress): Hosts {
  const own = EVERYWHERE.includes(host) ? [] : [inUrl(host)];
  const names = new Set([
    ...[...LOOPBACK_NAMES, ...own].map((name) => (port === 80 ? name : `${name}:${port}`)),
    ...allowHosts.flatMap((name) => [name, ...(/:\d+$/.test(name) ? [] : [`${name}:${port}`])]),
  ]);
  const known = new Set([...names].map((name) => name.toLowerCase()));
  return { knows: (name) => known.has(name.toLowerCase()) };
}

/** An address as it is written in a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
