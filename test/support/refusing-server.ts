import { createServer, type ServerHttp2Stream } from 'node:http2';

/** A Temporal server that lets nobody in. */
export interface RefusingServer {
  address: string;
  /** What was sent as `authorization`, each once. */
  keys: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** What it answers with, as gRPC has it: a status and words. */
export interface Refusal {
  status: number;
  message: string;
  /** Calls that it answers with an empty message instead, such as `GetSystemInfo`. */
  answered?: readonly string[];
}

/** Starts one on this machine, without TLS. */
export async function startRefusingServer({
  status,
  message,
  answered = [],
}: Refusal): Promise<RefusingServer> {
  const keys = new Set<string>();
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    if (headers.authorization !== undefined) keys.add(headers.authorization);
    const method = headers[':path']?.split('/').at(-1) ?? '';
    if (answered.includes(method)) answerEmpty(stream);
    else stream.respond({ ...HEAD, 'grpc-status': status, 'grpc-message': message }, { endStream: true });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = Object.assign({ port: 0 }, server.address());
  const stop = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await new Promise((closed) => server.close(closed));
  };
  return { address: `127.0.0.1:${port}`, keys, stop };
}

const HEAD = { ':status': 200, 'content-type': 'application/grpc' };
/** Not compressed, and no bytes. */
const EMPTY_MESSAGE = Buffer.alloc(5);

function answerEmpty(stream: ServerHttp2Stream): void {
  stream.respond(HEAD, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': 0 }));
  stream.end(EMPTY_MESSAGE);
}
