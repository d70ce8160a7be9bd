import { writeFileSync } from 'node:fs';
import { declaredServers } from '../lib/tools/mcp/declare';
import { definitionsIn } from '../lib/tools/mcp/definition';
import { formatLock, lockStart, lockTool } from '../lib/tools/mcp/lock-file';
import { connectTo } from '../lib/tools/mcp/reach';
import { createSecrets } from '../lib/tools/secrets';

/** What a bench needs to start MCP servers. */
export const deps = { secrets: createSecrets(), warn: (line: string): void => console.error(line) };

/** Writes what `mcp allow` would write. */
export async function writeLock(
  file: string,
  mcpServers: Parameters<typeof declaredServers>[0],
): Promise<void> {
  const servers = await declaredServers(mcpServers);
  const locked = servers.map(async (server) => {
    const connection = connectTo(server, deps);
    const listed = definitionsIn(await connection.list(AbortSignal.timeout(60_000)));
    await connection.close();
    const tools = Object.fromEntries(listed.map((one) => [one.name, lockTool(one)]));
    return [server.name, { start: lockStart(server.start), tools }] as const;
  });
  writeFileSync(file, formatLock({ version: 1, servers: Object.fromEntries(await Promise.all(locked)) }));
}
