import { CountersignError } from '../../contract/errors';
import { type Agent, withTools } from '../define-agent';
import { type Config, withAgents } from '../define-config';
import { fitsPattern, nearHint } from '../tool-names';
import { offeredTools } from '../builtin/find-tools';
import { estimateTokens } from '../registry';
import { declaredServers, type OpenDeps } from './declare';
import { lockedServer, readLock } from './lock-file';
import { openServer, type OpenServer } from './servers';

/** A config whose agents have the tools of its MCP servers. */
export interface OpenConfig {
  config: Config;
  /** Ends all servers. */
  close(): Promise<void>;
}

/**
 * Adds tools of its MCP servers to the agents of a config. An agent gets the tools that it names and that the lock has.
 * `only`: the one server that is opened. Absent: all.
 *
 * @throws CountersignError `config_invalid` if the servers or the lock cannot be read, an agent names a tool
 * that does not exist, two tools have one name, or settings do not fit.
 */
export async function openConfig(config: Config, deps: OpenDeps, only?: string): Promise<OpenConfig> {
  if (config.mcpServers === undefined) {
    const nothing = { open: [], prefixes: [], warn: deps.warn };
    for (const agent of config.agents) withServers(agent, nothing);
    warnOfTokens(config, deps);
    return { config, close: () => Promise.resolve() };
  }
  const servers = await declaredServers(config.mcpServers);
  const lock = await readLock(config.mcpLock);
  const wanted = servers.filter(({ name }) => only === undefined || name === only);
  const opening = wanted.map((server) =>
    openServer(server, lockedServer(lock, server.name), { ...deps, settings: config.mcpTools }),
  );
  const open = (await Promise.all(opening)).flatMap((one) => one ?? []);
  const close = async () => {
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

/**
 * From this number of tokens on, a warning is logged. It is about a tenth of the context window of widely used models,
 * and every request needs it.
 */
const MANY_TOKENS = 20_000;

function warnOfTokens({ agents }: Config, { warn }: OpenDeps) {
  for (const agent of agents) {
    const functions = offeredTools(agent, []);
    const tokens = estimateTokens(functions);
    if (tokens <= MANY_TOKENS) continue;
    const cost = `about ${tokens.toLocaleString('en')} tokens (estimated) of each request`;
    warn(`agent ${agent.name}: the definitions of its ${functions.length} tools take ${cost}; see findTools`);
  }
}

/** Refuses settings for a tool of an unknown server: they would silently have no effect on the intended tool. */
function requireSettingsUsed({ mcpTools }: Config, prefixes: readonly string[]) {
  const unknown = Object.keys(mcpTools).find(
    (name) => !prefixes.some((prefix) => name.startsWith(`${prefix}__`)),
  );
  if (unknown === undefined) return;
  throw new CountersignError(
    'config_invalid',
    `config: \`mcpTools\` names ${unknown}, which is of no MCP server`,
    'Names are `server__tool`, as `countersign mcp` shows them.',
  );
}

/** The servers in which we look for the names of tools. */
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
 * Requires that a name or pattern fits a tool. A name that can fit no tool is a mistake in the config. A server that
 * does not answer, or a tool that nobody has allowed, is not a mistake: a worker starts without it.
 *
 * @throws CountersignError `config_invalid`
 */
function requireTool(
  { name: agent }: Agent,
  { pattern, own }: { pattern: string; own: readonly string[] },
  { open, prefixes, warn }: Known,
) {
  const usable = [...own, ...open.flatMap(({ tools }) => tools.map(({ name }) => name))];
  if (usable.some((name) => fitsPattern(pattern, name))) return;
  const [prefix = ''] = pattern.split('__', 1);
  const server = open.find((one) => one.prefix === prefix);
  const isPending = server?.others?.some((name) => fitsPattern(pattern, name)) === true;
  // `openServer` has already logged the reason for each server and tool.
  if (isPending || (prefixes.includes(prefix) && server?.others === undefined))
    return warn(`agent ${agent}: no allowed MCP tool is called ${pattern}`);
  const near =
    prefixes.length === 0
      ? '; the config has no `mcpServers`'
      : nearHint(pattern, [...usable, ...prefixes.map((one) => `${one}__*`)]);
  throw new CountersignError(
    'config_invalid',
    `agent ${agent}: no tool is called ${pattern}${near}`,
    'Names are `server__tool`, as `countersign mcp test <server> --schemas` shows them.',
  );
}
