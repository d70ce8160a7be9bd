import { once } from 'node:events';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import type { Env } from './guard/signed-in';

/** Where to listen. */
export interface ListenOptions {
  host: string;
  /** @default 7243, or a free one where that is taken */
  port?: number;
  /** How long a request may take to come in. */
  timeouts?: Partial<typeof TIMEOUTS>;
}

const PORT = 7243;

/** A request that dribbles in holds a socket: it has to be there in this time. Milliseconds. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
} satisfies ServerOptions;

/** More than one desk has browsers. */
const MOST_CONNECTIONS = 1_000;
/** How long answers that are under way have when the server is stopped. */
const DRAIN_MS = 2_000;
const IDLE_CHECK_MS = 20;

/** A server that listens and does not answer yet. */
export interface Listening {
  port: number;
  /** Starts answering. */
  serve(app: Hono<Env>): void;
  /** Takes nothing new, lets what is under way end, and closes. */
  close(): Promise<void>;
}

/** Opens the port. Errors: `usage` where it is taken. */
export async function listen({ host, port, timeouts }: ListenOptions): Promise<Listening> {
  const server = createServer({ ...TIMEOUTS, ...timeouts });
  server.maxConnections = MOST_CONNECTIONS;
  await open(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return {
    port: address.port,
    serve: (app) => {
      const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
      server.on('request', (request, response) => void answer(request, response));
    },
    close: () => close(server),
  };
}

async function open(server: Server, host: string, port: number | undefined): Promise<void> {
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
  return new CountersignError('usage', `the desk cannot listen on ${place}: ${why}`, {
    hint: 'choose another one with --port and --host',
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A stream that ends leaves its connection behind, idle.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const drained = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(drained);
}
