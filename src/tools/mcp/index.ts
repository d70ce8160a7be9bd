import { CountersignError } from '../../contract/errors';
import { type Agent, withTools } from '../define-agent';
import { type Config, withAgents } from '../define-config';
import { fitsPattern, nearHint } from '../tool-names';
import { offeredTools } from '../builtin/find-tools';
import { estimateTokens } from '../registry';
import { declaredServers } from './declare';
import { lockedServer, readLock } from './lock';
import type { OpenDeps } from './reach';
import { openServer, type OpenServer } from './servers';

/** A config whose agents have the tools of its MCP servers. */
export interface OpenConfig {
  config: Config;
  /** Ends all servers. */
  close(): Promise<void>;
}

/**
 * Gives the agents of a config the tools of its MCP servers: those that the lock has, and that an agent names.
 *
 * @throws CountersignError `config_invalid` where servers or lock cannot be read or an agent names a tool that there is not,
 * `tool_invalid` where two tools have one name or settings do not fit.
 */
export async function openConfig(config: Config, deps: OpenDeps): Promise<OpenConfig> {
  if (config.mcpServers === undefined) {
    const nothing = { open: [], prefixes: [], warn: deps.warn };
    for (const agent of config.agents) withServers(agent, nothing);
    warnOfTokens(config, deps);
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
    const prefixes = servers.map(({ prefix }) => prefix);
    requireSettingsUsed(config, prefixes);
    const agents = config.agents.map((agent) => withServers(agent, { open, prefixes, warn: deps.warn }));
    const equipped = withAgents(config, agents);
    warnOfTokens(equipped, deps);
    return { config: equipped, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A tenth of what widely used models can read, in every request. */
const MANY_TOKENS = 20_000;

function warnOfTokens({ agents }: Config, { warn }: OpenDeps): void {
  for (const agent of agents) {
    const functions = offeredTools(agent, []);
    const tokens = estimateTokens(functions);
    if (tokens <= MANY_TOKENS) continue;
    const cost = `about ${tokens.toLocaleString('en')} tokens (estimated) of each request`;
    warn(`agent ${agent.name}: the definitions of its ${functions.length} tools take ${cost}; see findTools`);
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

/** What the names of tools are looked for in. */
interface Known {
  open: readonly OpenServer[];
  prefixes: readonly string[];
  warn: OpenDeps['warn'];
}

function withServers(agent: Agent, known: Known): Agent {
  const { toolPatterns, findTools, registry } = agent;
  const tools = known.open.flatMap((one) => one.tools);
  const own = registry.list().map(({ name }) => name);
  for (const pattern of toolPatterns) requireTool(agent, { pattern, own: [] }, known);
  for (const pattern of findTools?.core ?? []) requireTool(agent, { pattern, own }, known);
  return withTools(
    agent,
    tools.filter(({ name }) => toolPatterns.some((pattern) => fitsPattern(pattern, name))),
  );
}

/**
 * A name that fits no tool is a mistake of the config. A server that is not there and a tool that nobody has allowed are
 * not: a worker starts without them.
 *
 * @throws CountersignError `config_invalid`
 */
function requireTool(
  { name: agent }: Agent,
  { pattern, own }: { pattern: string; own: readonly string[] },
  { open, prefixes, warn }: Known,
): void {
  const usable = [...own, ...open.flatMap(({ tools }) => tools.map(({ name }) => name))];
  if (usable.some((name) => fitsPattern(pattern, name))) return;
  const [prefix = ''] = pattern.split('__', 1);
  const server = open.find((one) => one.prefix === prefix);
  const isPending = server?.others?.some((name) => fitsPattern(pattern, name)) === true;
  // Who looks has said why, for each server and tool.
  if (isPending || (prefixes.includes(prefix) && server?.others === undefined))
    return warn(`agent ${agent}: no allowed MCP tool is called ${pattern}`);
  const near =
    prefixes.length === 0
      ? '; the config has no `mcpServers`'
      : nearHint(pattern, [...usable, ...prefixes.map((one) => `${one}__*`)]);
  throw new CountersignError('config_invalid', `agent ${agent}: no tool is called ${pattern}${near}`, {
    hint: 'Names are `server__tool`, as `countersign mcp inspect <server>` shows them.',
  });
}
