import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';

/** A proxy of the kind that companies have, on this machine. */
export interface HttpProxy {
  url: string;
  /** What it was asked for, such as `GET http://models.test/v1` and `CONNECT models.test:443`. */
  asked: string[];
  /** The `proxy-authorization` of each of these. */
  authorizations: (string | undefined)[];
  close(): void;
}

/** How a proxy answers. */
export interface ProxyAnswers {
  /** Answers a request for a whole address, in place of its server. */
  answer?: RequestListener;
  /** The port of this machine to which a tunnel leads, whatever it is asked for. @default the one that is asked for */
  port?: number;
  /** The status of every answer; 0: it hangs up. @default it lets all pass */
  refuse?: number;
}

/** Starts a proxy. `how` is read at each request. */
export async function startHttpProxy(how: ProxyAnswers): Promise<HttpProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    authorizations.push(request.headers['proxy-authorization']);
    if (how.refuse !== undefined) return void response.writeHead(how.refuse).end();
    return how.answer?.(request, response);
  });
  server.on('connect', ({ url = '', headers }, socket, head) => {
    asked.push(`CONNECT ${url}`);
    authorizations.push(headers['proxy-authorization']);
    socket.on('error', () => undefined);
    if (how.refuse === 0) return void socket.destroy();
    if (how.refuse !== undefined) return void socket.end(`HTTP/1.1 ${how.refuse} No\r\n\r\n`);
    const there = connect(how.port ?? Number(url.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      there.write(head);
      there.pipe(socket).pipe(there);
    });
    there.on('error', () => socket.destroy());
    socket.on('close', () => there.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const close = (): void => void server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${port}`, asked, authorizations, close };
}

const VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY'];

/** Each test begins without a variable that names proxies, and leaves them as they were. */
export function ownProxyVariables(): void {
  let before: (readonly [string, string | undefined])[] = [];
  beforeEach(() => {
    before = VARIABLES.map((name) => [name, process.env[name]]);
    for (const name of VARIABLES) delete process.env[name];
  });
  afterEach(() => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
}
