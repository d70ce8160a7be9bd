import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { ConnectionLike } from '@temporalio/client';
import { CountersignError, errnoOf } from '../contract/errors';
import { LOOPBACK_HOST } from '../system/loopback';

/** The address at which a port is opened. */
interface ListenAddress {
  /** An IP address, IPv6 without brackets. */
  host: string;
  port: number;
}

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:.]*:[0-9a-f:.]*$/i;

/**
 * Reads `port`, `host:port` or `[host]:port`. A port without a host is open only on this machine. `localhost` is
 * 127.0.0.1. Any other host must be an IP address, because a name could stand for several addresses.
 *
 * @throws CountersignError `config_invalid`. Its message names `what`.
 */
export function readListenAddress(text: string, what: string): ListenAddress {
  const [, bracketed, named, digits = ''] = /^(?:\[(.*)\]:|([^:[\]]*):)?(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? (named === undefined || named === 'localhost' ? LOOPBACK_HOST : named);
  const port = Number(digits);
  const isHost = bracketed === undefined ? IPV4.test(host) : IPV6.test(host);
  if (digits !== '' && isHost && port >= 1 && port <= 65_535) return { host, port };
  throw new CountersignError(
    'config_invalid',
    `the address for ${what} cannot be ${JSON.stringify(text)}`,
    'write it as 9464, 127.0.0.1:9464 or [::1]:9464',
  );
}

/** The answer of one path. */
export interface ProbeAnswer {
  status: 200 | 503;
  text: string;
  /** @default 'text/plain; charset=utf-8' */
  type?: string;
}

/** Answers by path. */
type ProbePaths = Readonly<Record<string, () => ProbeAnswer | Promise<ProbeAnswer>>>;

/** An open port for programs. */
export interface ProbePort {
  close(): Promise<void>;
}

const TIMEOUTS = { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000 };
const MAX_CONNECTIONS = 100;

/**
 * Opens a port for programs of an operator: probes and scrapes. A request consists of a path only.
 *
 * @param what The purpose of the port, for error messages.
 * @throws CountersignError `config_invalid` if the address is wrong or taken.
 */
export async function openProbePort(address: string, what: string, paths: ProbePaths): Promise<ProbePort> {
  const { host, port } = readListenAddress(address, what);
  const server = createServer(TIMEOUTS, (request, response) => void answer(paths, request, response));
  server.maxConnections = MAX_CONNECTIONS;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = errnoOf(cause) === 'EADDRINUSE' ? 'the port is taken' : String(errnoOf(cause));
    throw new CountersignError('config_invalid', `cannot listen on ${address} for ${what}: ${why}`, {
      hint: 'choose another address, or end what listens there',
      cause,
    });
  }
  return { close: () => closeServer(server) };
}

async function answer(paths: ProbePaths, request: IncomingMessage, response: ServerResponse) {
  const [path = ''] = (request.url ?? '').split('?');
  const probe = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (probe === undefined || !['GET', 'HEAD'].includes(request.method ?? '')) {
    response.writeHead(probe ? 405 : 404).end();
    return;
  }
  const { status, text, type = 'text/plain; charset=utf-8' } = await probe();
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : text);
}

async function closeServer(server: Server) {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** The time within which Temporal's frontend has to answer a probe, in milliseconds. */
const ANSWER_MS = 2_000;
/**
 * The time for which an answer counts, in milliseconds. Probes of many programs then become one request to the server.
 */
const FRESH_MS = 1_000;

/** The part of a connection with which we check whether the server answers. */
export type Reachable = Pick<ConnectionLike, 'withDeadline' | 'workflowService'>;

/**
 * Makes a function that checks whether Temporal's server answers. The function asks Temporal at most once a second,
 * however often it is called. It never rejects.
 */
export function createReach(connectionOf: () => Reachable): () => Promise<boolean> {
  let asked: { at: number; answer: Promise<boolean> } | undefined;
  const ask = async () => {
    try {
      const connection = connectionOf();
      await connection.withDeadline(Date.now() + ANSWER_MS, () =>
        connection.workflowService.getSystemInfo({}),
      );
      return true;
    } catch {
      return false;
    }
  };
  return () => {
    const now = performance.now();
    if (asked === undefined || now - asked.at > FRESH_MS) asked = { at: now, answer: ask() };
    return asked.answer;
  };
}

/** The answer of a readiness probe. `why` says why the process is not ready. Undefined: it is ready. */
export function readiness(why: string | undefined): ProbeAnswer {
  return why === undefined ? { status: 200, text: 'ready\n' } : { status: 503, text: `not ready: ${why}\n` };
}
