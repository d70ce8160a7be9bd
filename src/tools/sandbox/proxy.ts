import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { chmod } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errnoOf, errorMessage } from '../../contract/errors';
import type { HostList } from '../http/hosts';
import { isToolError } from '../errors';
import { checkedAddresses, type Lookup, systemLookup, wayTo } from '../http/send';

/** The options of a proxy: its socket, and the hosts that programs may reach through it. */
interface ProxyPlan {
  /** The Unix socket to listen on. */
  path: string;
  hosts: HostList;
  /** The hosts that may be reached although their addresses are private. */
  privateHosts: HostList;
  /** For tests. @default the system's resolver */
  lookup?: Lookup;
}

/**
 * The most open connections. More connections are refused, because they use the worker's resources and not the
 * sandbox's.
 */
const MOST_CONNECTIONS = 64;
/** A connection on which nothing is sent for this long is closed. */
const IDLE_MS = 120_000;

/**
 * Starts the proxy, the only network of a sandbox: HTTP, and CONNECT for HTTPS, to listed hosts. The proxy looks up a
 * name itself and connects to the checked address, whatever the resolver says later.
 */
export async function startProxy(plan: ProxyPlan) {
  const open = new Set<Duplex>();
  const server = createServer((request, response) => void forward(plan, request, response));
  server.maxConnections = MOST_CONNECTIONS;
  server.headersTimeout = 10_000;
  server.on('connection', (socket) => {
    open.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.once('close', () => open.delete(socket));
  });
  server.on('connect', (request, socket, head) => void tunnel(plan, { request, socket, head }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(plan.path, resolve);
  });
  // This mode is safe, because the socket is in a folder that only this worker and the sandbox can enter.
  await chmod(plan.path, 0o666);
  server.unref();
  const close = async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { close };
}

interface Tunnel {
  request: IncomingMessage;
  socket: Duplex;
  /** The bytes that the program has already sent. */
  head: Buffer;
}

async function tunnel(plan: ProxyPlan, { request, socket, head }: Tunnel) {
  socket.on('error', () => socket.destroy());
  try {
    const target = await dial(plan, targetOf(`https://${request.url ?? ''}/`));
    // The program may have disconnected while we connected to the target.
    if (socket.destroyed) target.destroy();
    socket.once('close', () => target.destroy());
    target.on('error', () => socket.destroy());
    target.once('close', () => socket.destroy());
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) target.write(head);
    target.pipe(socket);
    socket.pipe(target);
  } catch (error) {
    socket.end(`HTTP/1.1 ${statusOf(error)} Refused\r\nconnection: close\r\n\r\n${errorMessage(error)}\n`);
  }
}

/** Headers that concern one connection only. We do not pass them on. */
const OF_THE_HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|http2-settings)$/i;

async function forward(plan: ProxyPlan, incoming: IncomingMessage, response: ServerResponse) {
  response.on('error', () => response.destroy());
  try {
    const url = targetOf(incoming.url ?? '');
    if (url.protocol !== 'http:') throw new Error('only http: is forwarded; use CONNECT for https:');
    const socket = await dial(plan, url);
    if (response.destroyed) socket.destroy();
    response.once('close', () => socket.destroy());
    const kept = Object.entries(incoming.headers).filter(([name]) => !OF_THE_HOP.test(name));
    const outgoing = httpRequest({
      createConnection: () => socket,
      method: incoming.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...Object.fromEntries(kept), ...framing(incoming), host: url.host, connection: 'close' },
    });
    outgoing.once('error', () => response.destroy());
    outgoing.once('response', (answer) => sendBack(answer, response));
    incoming.pipe(outgoing);
  } catch (error) {
    response.writeHead(statusOf(error), { 'content-type': 'text/plain', connection: 'close' });
    response.end(`${errorMessage(error)}\n`);
  }
}

/** Passes a chunked body on as chunked. Otherwise the server would read the body as another request. */
function framing({ headers }: IncomingMessage): { 'transfer-encoding'?: string } {
  return headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' };
}

/** Passes an answer on. An invalid answer, such as one with the status 099, ends the connection. */
function sendBack(answer: IncomingMessage, response: ServerResponse) {
  try {
    const back = Object.entries(answer.headers).filter(([name]) => !OF_THE_HOP.test(name));
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(back));
    answer.pipe(response);
  } catch {
    answer.destroy();
    response.destroy();
  }
}

/** 502 for errors of the system, which mean a failed connection. 403 for all others, which mean a refused host. */
function statusOf(error: unknown): number {
  return isToolError(error) || errnoOf(error) === undefined ? 403 : 502;
}

function targetOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '')
    throw new Error(`${JSON.stringify(text.slice(0, 200))} names no host`);
  return url;
}

/** @throws Error with the reason why this host is not reached. */
async function dial({ hosts, privateHosts, lookup = systemLookup }: ProxyPlan, url: URL): Promise<Socket> {
  if (!hosts(url)) throw new Error(`${url.host} is not among the hosts of this sandbox`);
  const addresses = await checkedAddresses(url, { privateHosts, lookup });
  const socket = connect(wayTo(url, addresses));
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return socket;
}
