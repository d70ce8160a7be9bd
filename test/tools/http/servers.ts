import {
  createServer as createHttp,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

/** One request as a server read it. */
export interface Heard {
  method: string;
  url: string;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** What answers a request, once all of it was read. */
export type Answering = (heard: Heard, response: ServerResponse) => void;

/** A server on this machine. */
export interface LocalServer {
  port: number;
  /** `127.0.0.1:<port>` */
  host: string;
  heard: Heard[];
  /** How often somebody connected. */
  connections(): number;
}

/** A real server for the test file that calls this; over TLS where it is given a certificate. */
export function useServer(answer: Answering, tls?: () => { key: string; cert: string }): LocalServer {
  const local = { port: 0, host: '', heard: [] as Heard[], connections: () => connections };
  let connections = 0;
  let server: Server;
  const listener: RequestListener = (request, response) => {
    const { method = '', url = '', headers } = request;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const heard = { method, url, headers, body: Buffer.concat(chunks).toString() };
      local.heard.push(heard);
      answer(heard, response);
    });
  };
  beforeAll(async () => {
    server = tls === undefined ? createHttp(listener) : createHttps(tls(), listener);
    server.on('connection', () => (connections += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // A server that listens on a port has an address.
    local.port = portOf(server.address());
    local.host = `127.0.0.1:${local.port}`;
  });
  beforeEach(() => {
    local.heard.length = 0;
    connections = 0;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return local;
}

const portOf = (address: AddressInfo | string | null): number =>
  typeof address === 'object' && address !== null ? address.port : 0;
