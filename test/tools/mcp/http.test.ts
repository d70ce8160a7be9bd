import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { digestDefinition } from '../../../src/tools/mcp/definition';
import { boundedFetch } from '../../../src/tools/mcp/http';
import { connect, always } from './support';
import type { McpServer } from '../../../src/tools/mcp/declare';

const running: Server[] = [];
afterEach(() => running.splice(0).map((server) => server.close().closeAllConnections()));

const listen = async (answer: RequestListener): Promise<string> => {
  const server = createServer(answer);
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  return `http://127.0.0.1:${port}/mcp`;
};

const at = (url: string): McpServer => ({
  name: 'far',
  prefix: 'far',
  start: { kind: 'http', url, headers: { Authorization: { secret: 'token' } } },
});

const TOOL = { name: 'act', inputSchema: { type: 'object' } };

/** A server that answers each request with JSON, and calls as it is asked to. */
const serve = (call: RequestListener, seen: string[] = []): Promise<string> =>
  listen((request, response) => {
    seen.push(`${request.method} ${request.headers.authorization}`);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body);
      const answer = (result: object): void => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      };
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'initialize')
        return answer({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'far', version: '1' },
        });
      if (method === 'tools/list') return answer({ tools: [TOOL] });
      return call(request, response);
    });
  });

const stream = (response: ServerResponse, then?: () => void): ServerResponse => {
  response.setHeader('content-type', 'text/event-stream');
  response.write(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n',
    then,
  );
  return response;
};

const callOn = async (url: string): Promise<unknown> => {
  const { connection } = connect(at(url));
  try {
    const [listed] = await connection.list(always());
    if (listed === undefined || !('definition' in listed)) throw new Error('no tool');
    const digest = digestDefinition(listed.definition);
    const call = { tool: 'act', arguments: {}, digest, signal: always(), onProgress: () => undefined };
    return await connection.call(call).catch((error: unknown) => error);
  } finally {
    await connection.close();
  }
};

it.each<[string, RequestListener, boolean]>([
  ['refuses', (_, response) => void response.writeHead(403).end('no'), true],
  ['has forgotten the session', (_, response) => void response.writeHead(404).end(), true],
  ['breaks', (_, response) => void response.writeHead(500).end(), false],
  ['hangs up', (request) => void request.socket.destroy(), false],
  ['ends its stream without an answer', (_, response) => void stream(response).end(), false],
  ['breaks off its stream', (_, response) => void stream(response, () => response.destroy()), false],
  [
    'answers with a page',
    (_, response) => void response.setHeader('content-type', 'text/html').end('<p>'),
    false,
  ],
  [
    'sends another id',
    (_, response) => void response.setHeader('content-type', 'application/json').end('{'),
    false,
  ],
])(
  'a server that %s: whether it proves that nothing was called is %3$s',
  async (_case, call, nothingSent) => {
    expect(await callOn(await serve(call))).toMatchObject({ name: 'TransportError', nothingSent });
  },
);

it.each([
  ['takes none of our answers', 8, 64],
  ['sends requests whose ids are too long', 1025, 0],
])('closes the connection to a server that %s', async (_case, length, most) => {
  const pings = Array.from({ length: 200 }, (_, n) => {
    const ping = { jsonrpc: '2.0', id: String(n).padStart(length, '0'), method: 'ping' };
    return `event: message\ndata: ${JSON.stringify(ping)}\n\n`;
  });
  let answers = 0;
  let asks: ServerResponse | undefined;
  const url = await serve((_, response) => {
    if (asks === undefined) return void (asks = stream(response)).write(pings.join(''));
    answers += 1;
    // A client without a limit sends all answers. The end of the stream then ends its call, too.
    if (answers === pings.length) asks.end();
  });
  expect(await callOn(url)).toMatchObject({ name: 'TransportError', nothingSent: false });
  expect(answers).toBeLessThanOrEqual(most);
});

it('proves that nothing was sent where nobody listens', async () => {
  const url = await listen(() => undefined);
  await new Promise((resolve) => running.splice(0)[0]?.close(resolve));
  await expect(connect(at(url)).connection.list(always())).rejects.toMatchObject({ nothingSent: true });
});

it('takes its headers to no other place', async () => {
  const elsewhere: string[] = [];
  const other = await serve(() => undefined, elsewhere);
  const own: string[] = [];
  const url = await serve((_, response) => void response.writeHead(307, { location: other }).end(), own);
  expect(await callOn(url)).toMatchObject({ name: 'TransportError' });
  expect(elsewhere).toEqual([]);
  expect(own).toEqual(own.map((line) => line.replace(/ .*/, ' value of token')));
});

describe('a body', () => {
  const fetched = async (body: string[], type: string): Promise<string> => {
    const url = await listen((_, response) => {
      response.setHeader('content-type', type);
      const next = (): void => {
        const part = body.shift();
        if (part === undefined) return void response.end();
        response.write(part, () => setImmediate(next));
      };
      next();
    });
    return (await boundedFetch(fetch, 1000)(url)).text();
  };

  it('is cut off with an error where it is too long', async () => {
    await expect(fetched(['x'.repeat(1001)], 'application/json')).rejects.toThrow();
    await expect(fetched(['x'.repeat(1000)], 'application/json')).resolves.toHaveLength(1000);
  });

  it('of a stream may be longer, but none of its events', async () => {
    const event = `data: ${'x'.repeat(600)}\n\n`;
    await expect(fetched([event, event, event], 'text/event-stream')).resolves.toHaveLength(3 * event.length);
    await expect(fetched(['x'.repeat(600), 'x'.repeat(600)], 'text/event-stream')).rejects.toThrow();
  });
});
