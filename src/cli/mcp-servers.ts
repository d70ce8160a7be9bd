import { CountersignError, errorMessage } from '../contract/errors';
import type { Config } from '../tools/define-config';
import { declaredServers, type McpServer } from '../tools/mcp/declare';
import { type Definition, digestDefinition, type Listed, toolNames } from '../tools/mcp/definition';
import { lockedServer, type LockedServer, readLock, type Standing, whyNotStarted } from '../tools/mcp/lock';
import { connectTo, describeStart, standingsOf, whyNotAgreed } from '../tools/mcp/servers';
import { createSecrets } from '../tools/secrets';

/** A server that a config names, and the agreement about it. */
export interface NamedServer {
  server: McpServer;
  locked: LockedServer | undefined;
}

/** A tool of a server, as a person judges it. */
export interface ToolReport {
  /** The server's own name of it. */
  tool: string;
  /** Its name here; null where it can have none. */
  name: string | null;
  /** `unfit`: it breaks a limit, or shares its name with another one. */
  standing: Standing | 'unfit';
  why?: string;
  digest?: string;
  /** As it is now; as it was allowed where nobody looked, or it is gone. */
  definition?: Definition;
}

/** What is known of a server. */
export interface ServerReport {
  server: string;
  /** How it is started or reached, in one line that hides nothing. */
  start: string;
  /** `failed`: it was allowed, and could not be asked. */
  state: 'allowed' | 'not_allowed' | 'failed';
  why?: string;
  tools: ToolReport[];
}

/**
 * The servers of a config, or the one of a name.
 *
 * @throws CountersignError `config_invalid`; `usage` for a name that the config does not have.
 */
export async function namedServers(config: Config, name?: string): Promise<NamedServer[]> {
  const servers = config.mcpServers === undefined ? [] : await declaredServers(config.mcpServers);
  const lock = await readLock(config.mcpLock);
  const all = servers.map((server) => ({ server, locked: lockedServer(lock, server.name) }));
  if (name === undefined || all.some(({ server }) => server.name === name))
    return all.filter(({ server }) => name === undefined || server.name === name);
  const known = servers.map((server) => server.name).join(', ') || 'none';
  throw new CountersignError('usage', `the config names no MCP server ${name}`, {
    hint: `It names: ${known}.`,
  });
}

/** What was agreed to of a server. Nothing is started. */
export function reportAgreed({ server, locked }: NamedServer): ServerReport {
  const why = whyNotStarted(server.start) ?? whyNotAgreed(server, locked);
  const agreed = Object.values(locked?.tools ?? {}).map(({ definition }) => ({ definition }));
  const head = { server: server.name, start: describeStart(server.start) };
  const tools = toolReports({ server, locked }, agreed);
  return why === undefined
    ? { ...head, state: 'allowed', tools }
    : { ...head, state: 'not_allowed', why, tools };
}

/** Whether a worker would have every tool of it that there is. */
export function isFine({ state, tools }: ServerReport): boolean {
  return state === 'allowed' && tools.every(({ standing }) => standing === 'allowed' || standing === 'unfit');
}

const LOOK_MS = 60_000;

/** The same, compared with what the server lists now. One that was not agreed to is not started. */
export async function reportLive(named: NamedServer, config: Config): Promise<ServerReport> {
  const report = reportAgreed(named);
  if (report.state !== 'allowed') return report;
  try {
    return { ...report, tools: toolReports(named, await listTools(named.server, config)) };
  } catch (error) {
    return { ...report, state: 'failed', why: errorMessage(error) };
  }
}

/**
 * What a server lists now. It is started for that, whether anybody agreed or not: ask before.
 *
 * @throws Error that says why it could not be asked.
 */
export async function listTools(server: McpServer, config: Config): Promise<Listed[]> {
  // What goes wrong comes back as an error.
  const connection = connectTo(server, { secrets: createSecrets(config.secrets), warn: () => undefined });
  try {
    return await connection.list(AbortSignal.timeout(LOOK_MS));
  } finally {
    await connection.close();
  }
}

/** Each tool that a server lists or that was agreed to, by name. */
export function toolReports({ server, locked }: NamedServer, listed: readonly Listed[]): ToolReport[] {
  const found = standingsOf(locked ?? { tools: {} }, listed);
  const definitions = new Map(
    listed.flatMap((one) => ('definition' in one ? [[one.definition.name, one.definition] as const] : [])),
  );
  const names = toolNames(server.prefix, [...found.keys()]);
  const fit = [...found].map(([tool, standing]): ToolReport => {
    const definition = definitions.get(tool) ?? locked?.tools[tool]?.definition;
    const name = names.get(tool);
    const known = definition === undefined ? {} : { digest: digestDefinition(definition), definition };
    if (name !== undefined) return { tool, name, standing, ...known };
    return {
      tool,
      name: null,
      standing: 'unfit',
      why: 'another tool has its name here, or it has none',
      ...known,
    };
  });
  const unfit = listed.flatMap((one): ToolReport[] =>
    'unfit' in one ? [{ tool: one.name, name: null, standing: 'unfit', why: one.unfit }] : [],
  );
  const unfitNames = unfit.map(({ tool }) => tool);
  return [...fit.filter(({ tool }) => !unfitNames.includes(tool)), ...unfit].sort((one, other) =>
    one.tool < other.tool ? -1 : 1,
  );
}
