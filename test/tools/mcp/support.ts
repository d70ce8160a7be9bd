import { join } from 'node:path';
import { createSecrets, type Secrets } from '../../../src/tools/secrets';
import type { Json } from '../../../src/contract/json';
import type { McpServer } from '../../../src/tools/mcp/declare';
import type { McpCall, McpConnection } from '../../../src/tools/mcp/connection';
import { digestDefinition } from '../../../src/tools/mcp/definition';
import { type LockedServer, lockStart, lockTool } from '../../../src/tools/mcp/lock-file';
import { connectTo } from '../../../src/tools/mcp/reach';

/** The server of test/support that does as it is asked, or as it must not. */
export const HOSTILE = join(__dirname, '..', '..', 'support', 'mcp-server.cjs');

/** It, as a config declares it. */
export function hostile(...args: string[]): McpServer {
  const start = {
    kind: 'stdio',
    command: process.execPath,
    args: [HOSTILE, ...args],
    cwd: '.',
    env: {},
  } as const;
  return { name: 'hostile', prefix: 'hostile', start };
}

/** A connection, the lines that it would write to the log, and the secrets that it knows. */
export function connect(server: McpServer): {
  connection: McpConnection;
  warnings: string[];
  secrets: Secrets;
} {
  const warnings: string[] = [];
  const secrets = createSecrets((name) => `value of ${name}`);
  const connection = connectTo(server, { secrets, warn: (line) => warnings.push(line) });
  return { connection, warnings, secrets };
}

/** Never aborts. */
export const always = (): AbortSignal => new AbortController().signal;

/** Calls the hostile tool as it is listed now. */
export async function act(
  connection: McpConnection,
  how: string,
  rest: Partial<McpCall> & { with?: Json } = {},
): Promise<unknown> {
  const { with: what = '', ...call } = rest;
  const digest = call.digest ?? (await digestOf(connection, 'act'));
  const args = { how, with: what };
  return connection.call({
    tool: 'act',
    arguments: args,
    signal: always(),
    onProgress: () => undefined,
    ...call,
    digest,
  });
}

export async function digestOf(connection: McpConnection, name: string): Promise<string> {
  for (const one of await connection.list(always()))
    if ('definition' in one && one.definition.name === name) return digestDefinition(one.definition);
  throw new Error(`no tool ${name}`);
}

/** What `mcp allow` would write, for a server as it is now. */
export async function allow(server: McpServer): Promise<LockedServer> {
  const { connection } = connect(server);
  try {
    const listed = await connection.list(always());
    const tools = listed.flatMap((one) =>
      'definition' in one ? [[one.definition.name, lockTool(one.definition)] as const] : [],
    );
    return { start: lockStart(server.start), tools: Object.fromEntries(tools) };
  } finally {
    await connection.close();
  }
}
