import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const message = z.looseObject({ id: z.unknown().optional(), method: z.string().optional() });

/** One session: a server of its own behind standard input and output, and the answers that wait for it. */
interface Session {
  child: ChildProcessByStdio<Writable, Readable, null>;
  open: Map<unknown, ServerResponse>;
}

/**
 * Serves an MCP server of standard input and output over streamable HTTP, for tests. Each session has its own process.
 * What the server says by itself goes with the answer to the newest request. Where the process ends, the connections end.
 */
export async function serveOverHttp(
  command: string,
  args: string[],
): Promise<{ url: string; close(): Promise<void> }> {
  const sessions = new Map<string, Session>();

  const start = (): Session => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const session: Session = { child, open: new Map() };
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = message.parse(JSON.parse(line));
      const isAnswer = said.method === undefined;
      const stream = isAnswer ? session.open.get(said.id) : [...session.open.values()].at(-1);
      stream?.write(`event: message\ndata: ${line}\n\n`);
      if (!isAnswer) return;
      stream?.end();
      session.open.delete(said.id);
    });
    child.on('exit', () => {
      for (const stream of session.open.values()) stream.destroy();
    });
    return session;
  };

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const body = await text(request);
    const said = message.parse(JSON.parse(body));
    const isFirst = said.method === 'initialize';
    const id = isFirst ? randomUUID() : String(request.headers['mcp-session-id']);
    const session = isFirst ? start() : sessions.get(id);
    if (session === undefined || session.child.exitCode !== null) return void response.writeHead(404).end();
    sessions.set(id, session);
    if (said.method === undefined || said.id === undefined) response.writeHead(202).end();
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': id }).flushHeaders();
      session.open.set(said.id, response);
    }
    session.child.stdin.write(`${body}\n`);
  };

  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('the bridge has no port');
  return {
    url: `http://127.0.0.1:${at.port}/mcp`,
    close: async () => {
      for (const { child } of sessions.values()) child.kill('SIGKILL');
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
