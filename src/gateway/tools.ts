import { CountersignError, usageError } from '../contract/errors';
import { isJsonObject, type JsonObject } from '../contract/json';
import { GATEWAY_AGENT } from '../contract/names';
import { FIND_TOOLS } from '../tools/builtin/find-tools';
import { type Agent, defineAgent, withTools } from '../tools/define-agent';
import { type Config, withAgents } from '../tools/define-config';
import { openConfig } from '../tools/mcp';
import { declaredServers, type McpServer, type OpenDeps } from '../tools/mcp/declare';
import { toolNames } from '../tools/mcp/definition';
import { type Lock, lockedServer, readLock } from '../tools/mcp/lock-file';
import { whyNotAgreed } from '../tools/mcp/servers';
import { whyNotStarted } from '../tools/mcp/exact-version';
import { permitTools } from '../tools/permit-tools';

/** What a gateway is for: one server under its own names, an agent, or all servers. */
export interface Served {
  server?: string;
  agent?: string;
}

/** A tool as clients see it. */
interface OfferedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  annotations?: JsonObject;
}

/** The tools of a gateway, open. */
export type GatewayTools = Awaited<ReturnType<typeof openGatewayTools>>;

/** Never asked: the only call of each turn is given. */
const NO_MODEL = {
  id: 'none',
  generate: () => Promise.reject(new Error('the gateway asks no model')),
};

/**
 * Opens the tools of a gateway by the lock, without waiting for any server: they are started after `begun`. `onGone` is
 * called when a server turns out not to have a tool as it was allowed.
 *
 * @throws CountersignError `usage` for a server or an agent that the config does not name; `config_invalid`, also for a
 * named server that may not be started.
 */
export async function openGatewayTools(
  config: Config,
  served: Served,
  { begun, onGone, ...deps }: Pick<OpenDeps, 'secrets' | 'warn'> & { begun: Promise<void>; onGone(): void },
) {
  const declared = config.mcpServers === undefined ? [] : await declaredServers(config.mcpServers);
  const lock = await readLock(config.mcpLock);
  const servers = chosenServers(declared, lock, served);
  const gone = new Set<string>();
  const leave = (names: readonly string[]) => {
    for (const name of names) gone.add(name);
    if (names.length > 0) onGone();
  };
  const agent = withPermits(agentFor(config, served, servers), config);
  const later = { when: begun, gone: leave };
  const opened = await openConfig(withAgents(config, [agent]), { ...deps, later }, served.server);
  const [equipped = agent] = opened.config.agents;
  const offers = offersOf(equipped, { config, served, servers, lock });
  const names = new Map(offers.map(({ offered, tool }) => [offered.name, tool]));
  const isThere = (tool: string) => !gone.has(tool);
  return {
    agent: equipped,
    /** The config of the gateway's own worker. */
    config: withAgents({ ...opened.config, mcpServers: undefined }, [equipped]),
    /** The tools that a client is offered now. */
    offered: () => offers.filter(({ tool }) => isThere(tool)).map(({ offered }) => offered),
    /** Our name of a tool that a client names. Undefined if it is not offered. */
    nameOf: (offered: string) => [names.get(offered)].find((tool) => tool !== undefined && isThere(tool)),
    close: opened.close,
  };
}

function chosenServers(servers: readonly McpServer[], lock: Lock, { server }: Served): readonly McpServer[] {
  if (server === undefined) return servers;
  const one = servers.find(({ name }) => name === server);
  if (one === undefined)
    throw usageError(
      `the config names no MCP server ${server}`,
      `It names: ${servers.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  const why = whyNotStarted(one.start) ?? whyNotAgreed(one, lockedServer(lock, one.name));
  if (why !== undefined) throw new CountersignError('config_invalid', `MCP server ${server}: ${why}`);
  return [one];
}

/** The agent whose calls the gateway makes: one of the config, or one that has all tools of the servers. */
function agentFor(config: Config, { agent: named }: Served, servers: readonly McpServer[]): Agent {
  const own = config.agents.find(({ name }) => name === (named ?? GATEWAY_AGENT));
  if (own !== undefined) return own;
  if (named !== undefined)
    throw usageError(
      `the config has no agent ${named}`,
      `It has: ${config.agents.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  return defineAgent({
    name: GATEWAY_AGENT,
    instructions: 'Runs the calls of MCP clients.',
    model: NO_MODEL,
    tools: servers.map(({ prefix }) => `${prefix}__*`),
    findTools: false,
  });
}

function withPermits(agent: Agent, { hookTools }: Config): Agent {
  const permits = agent.name === GATEWAY_AGENT ? permitTools(hookTools) : [];
  return permits.length === 0 ? agent : withTools(agent, permits);
}

interface Offer {
  offered: OfferedTool;
  tool: string;
}

/** The tools as clients see them: those of a server by its own definitions, from the lock. */
function offersOf(
  agent: Agent,
  {
    config,
    served,
    servers,
    lock,
  }: { config: Config; served: Served; servers: readonly McpServer[]; lock: Lock },
): Offer[] {
  const permits = permitTools(config.hookTools).map(({ name }) => name);
  const own = agent.registry
    .list()
    .filter((tool) => tool.server === 'local' && tool.name !== FIND_TOOLS && !permits.includes(tool.name))
    .map(({ name, description, schema }): Offer => {
      const inputSchema = isJsonObject(schema) ? schema : { type: 'object' };
      return { offered: { name, description, inputSchema }, tool: name };
    });
  const ofServers = servers.flatMap(({ name, prefix }) => {
    const locked = lockedServer(lock, name)?.tools ?? {};
    const names = toolNames(prefix, Object.keys(locked));
    return [...names].flatMap(([original, tool]): Offer[] => {
      const definition = locked[original]?.definition;
      if (definition === undefined || agent.registry.get(tool) === undefined) return [];
      // Without a schema of results: a client would refuse a result that says that the call still waits.
      const { outputSchema: _, ...rest } = definition;
      return [{ offered: { ...rest, name: served.server === undefined ? tool : original }, tool }];
    });
  });
  return served.agent === undefined ? ofServers : [...own, ...ofServers];
}
