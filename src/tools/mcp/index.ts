import { CountersignError } from '../../contract/errors';
import { type Agent, withTools } from '../define-agent';
import { type Config, withAgents } from '../define-config';
import type { Tool } from '../types';
import { declaredServers } from './declare';
import { lockedServer, readLock } from './lock';
import { openServer, type OpenDeps } from './servers';

/** A config whose agents have the tools of its MCP servers. */
export interface OpenConfig {
  config: Config;
  /** Ends all servers. */
  close(): Promise<void>;
}

/**
 * Gives the agents of a config the tools of its MCP servers: those that the lock has, and that an agent names.
 *
 * @throws CountersignError `config_invalid` where servers or lock cannot be read, `tool_invalid` where two tools have one
 * name or settings do not fit.
 */
export async function openConfig(config: Config, deps: OpenDeps): Promise<OpenConfig> {
  const wanted = config.agents.some((agent) => agent.toolPatterns.length > 0);
  if (config.mcpServers === undefined) {
    if (wanted) deps.warn('an agent names tools of MCP servers, and the config has no `mcpServers`');
    return { config, close: () => Promise.resolve() };
  }
  const servers = await declaredServers(config.mcpServers);
  const lock = await readLock(config.mcpLock);
  const opening = servers.map((server) =>
    openServer(server, lockedServer(lock, server.name), { ...deps, settings: config.mcpTools }),
  );
  const open = (await Promise.all(opening)).flatMap((one) => one ?? []);
  const close = async (): Promise<void> => {
    await Promise.all(open.map((one) => one.close()));
  };
  try {
    const tools = open.flatMap((one) => one.tools);
    requireSettingsUsed(
      config,
      servers.map(({ prefix }) => prefix),
    );
    const agents = config.agents.map((agent) => withServers(agent, tools, deps));
    return { config: withAgents(config, agents), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A setting for a server that does not exist would be lost without a word, and its tool ask where nobody expects it. */
function requireSettingsUsed({ mcpTools }: Config, prefixes: readonly string[]): void {
  const unknown = Object.keys(mcpTools).find(
    (name) => !prefixes.some((prefix) => name.startsWith(`${prefix}__`)),
  );
  if (unknown === undefined) return;
  throw new CountersignError(
    'config_invalid',
    `config: \`mcpTools\` names ${unknown}, which is of no MCP server`,
    {
      hint: 'Names are `server__tool`, as `countersign mcp list` shows them.',
    },
  );
}

function withServers(agent: Agent, tools: readonly Tool[], { warn }: OpenDeps): Agent {
  const { toolPatterns } = agent;
  const lonely = toolPatterns.filter((pattern) => !tools.some(({ name }) => fits(pattern, name)));
  if (lonely.length > 0) warn(`agent ${agent.name}: no allowed MCP tool is called ${lonely.join(', ')}`);
  return withTools(
    agent,
    tools.filter(({ name }) => toolPatterns.some((pattern) => fits(pattern, name))),
  );
}

/** `*` stands for any letters, also none. Linear: each part is looked for once, from left to right. */
function fits(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (!name.startsWith(head)) return false;
  const tail = rest.pop();
  if (tail === undefined) return name === head;
  let from = head.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - tail.length >= from && name.endsWith(tail);
}
