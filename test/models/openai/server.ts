import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ModelMessage, ModelRequest } from '../../../src/models/model';

/** What one request is answered with. */
export type Answer = (
  response: ServerResponse,
  request: { body: unknown; headers: IncomingMessage['headers'] },
) => void;

/** A real HTTP server that speaks chat completions; `answer` says how. */
export interface FakeServer {
  baseUrl: string;
  answer: Answer;
  requests: { path: string | undefined; body: unknown; headers: IncomingMessage['headers'] }[];
  /** Connections that are open. */
  open(): Promise<number>;
  close(): Promise<void>;
}

/** A server for the tests of a file. Each test begins without requests. */
export function useServer(): FakeServer {
  const { fake, listen } = makeServer();
  beforeAll(listen);
  afterAll(() => fake.close());
  beforeEach(() => {
    fake.requests.length = 0;
  });
  return fake;
}

export async function startServer(): Promise<FakeServer> {
  const { fake, listen } = makeServer();
  await listen();
  return fake;
}

function makeServer(): { fake: FakeServer; listen(): Promise<void> } {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      fake.requests.push({ path: request.url, body, headers: request.headers });
      fake.answer(response, { body, headers: request.headers });
    });
  });
  const fake: FakeServer = {
    baseUrl: '',
    answer: json({ choices: [] }),
    requests: [],
    open: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return {
    fake,
    listen: async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      fake.baseUrl = `http://127.0.0.1:${port}/v1`;
    },
  };
}

export interface AnswerOptions {
  status?: number;
  headers?: Record<string, string>;
}

/** Answers with JSON, or with the text as it is. */
export function json(body: unknown, { status = 200, headers = {} }: AnswerOptions = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Answers with a stream, in the pieces given. `destroy`: the connection breaks after the last one. */
export function pieces(parts: readonly (string | Buffer)[], end: 'end' | 'destroy' = 'end'): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const next = (index: number): void => {
      const part = parts[index];
      if (part === undefined) return end === 'end' ? void response.end() : void response.destroy();
      response.write(part, () => setImmediate(next, index + 1));
    };
    response.flushHeaders();
    next(0);
  };
}

/** Chunks as one recorded stream. */
export function recorded(chunks: readonly unknown[], done = true): Buffer {
  const events = chunks.map(
    (chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`,
  );
  return Buffer.from(events.join('') + (done ? 'data: [DONE]\n\n' : ''));
}

/** A chunk with this delta. */
export function delta(content: unknown, finish: string | null = null): unknown {
  return { choices: [{ delta: content, finish_reason: finish }] };
}

/** A chat completion with this message. */
export function completion(
  message: Record<string, unknown>,
  finish = 'stop',
  more: Record<string, unknown> = {},
): unknown {
  return {
    id: 'c1',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    ...more,
  };
}

/** A call as the server writes it. */
export function wireCall(id: string | null, name: string, args: string): Record<string, unknown> {
  return { ...(id === null ? {} : { id }), type: 'function', function: { name, arguments: args } };
}

export const READ_TOOL: ModelRequest['tools'][number] = {
  type: 'function',
  function: {
    name: 'read_file',
    description: 'Reads a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
};

export function requestOf(more: Partial<ModelRequest> = {}): ModelRequest {
  const messages: ModelMessage[] = [{ role: 'user', content: 'hello' }];
  return {
    instructions: 'be brief',
    messages,
    tools: [READ_TOOL],
    signal: new AbortController().signal,
    ...more,
  };
}
