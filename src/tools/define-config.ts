import { z } from 'zod';
import type { PolicyRule } from '../contract/policy-rule';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import { SECOND, TIMES } from '../contract/limits';
import { TASK_QUEUE } from '../contract/names';
import { type ModelPrice, priceOf, type Pricing } from '../contract/spending/prices';
import { LOG_LEVELS, type CallLogOptions } from './call-log';
import { definitionOf } from './builtin/agent-tool';
import { isAgent, type Agent, modelsOf } from './define-agent';
import { checkedOptions, duration } from './option-values';
import { type McpServers, type McpToolSettings, serversSchema, settingsSchema } from './mcp/declare';
import { type HookToolSettings, hookToolsSchema } from './permit-tools';
import type { Hooks } from './hooks';
import { inProcess, type Runner } from './run-handler';
import type { SecretProvider } from './secrets';
import type { Duration, Tool } from './types';
import { guarded } from '../system/guarded';

/** The time that a turn waits for a worker that has its agent, unless the config sets it. */
const AGENT_WAIT = 600 * SECOND;

/** The default name of the lock file. The file lies beside the config and is reviewed like code. */
const LOCK_FILE = 'countersign.mcp.lock';

const filled = z.string().min(1);

/** Marks configs. The symbol is global, so that configs of a second copy of this module are recognised too. */
const CONFIG = Symbol.for('countersign.config');

/** The options of `defineConfig`. */
export interface ConfigOptions {
  /** May be empty where there are `mcpServers` or `hookTools`, for a config of the gateway. */
  agents: readonly Agent[];
  /** Queue of the worker and its turns. @default 'countersign' */
  taskQueue?: string;
  hooks?: Hooks;
  /** Settings of the log lines about calls. @default level INFO, calls true */
  log?: CallLogOptions;
  /**
   * The store of the files that are attached to messages: a folder, relative to the current one, or
   * `s3://bucket/prefix`. All workers and all senders of files need the same store.
   *
   * @default `COUNTERSIGN_FILES`; without it models read no files
   */
  files?: string;
  /**
   * Directory for the worker's records on this machine, relative to the current one.
   *
   * @default the user's own state directory
   */
  stateDir?: string;
  /**
   * The time that a turn waits for a worker that has its agent when this worker lacks it; at most one hour.
   *
   * @default 10 minutes
   */
  agentWait?: Duration;
  /** Executes handlers. @default in this process */
  runner?: Runner;
  /** Provides secrets to handlers, by name. Its secrets are redacted from all that leaves the worker. @default none */
  secrets?: SecretProvider;
  /**
   * MCP servers by name, or the path of a `.mcp.json`, relative to the current folder. A worker uses only what
   * `countersign mcp allow` wrote to the lock. @default none
   */
  mcpServers?: McpServers;
  /**
   * Settings of single tools of MCP servers, by their names here (`server__tool`). A server's own statements about the
   * safety of its tools are never believed. @default dangerous and unsafe
   */
  mcpTools?: Readonly<Record<string, McpToolSettings>>;
  /**
   * A coding agent's own tools whose calls wait for a decision, by the agent's names, such as `Bash`; see
   * docs/hooks.md. @default none
   */
  hookTools?: Readonly<Record<string, HookToolSettings>>;
  /** The lock file with the allowed tools, relative to the current folder. @default 'countersign.mcp.lock' */
  mcpLock?: string;
  /**
   * The file that says who may decide what, relative to the current folder; see docs/approvers.md. Workers refuse
   * decisions that the file does not allow. @default none: whoever may reach a turn may decide everything
   */
  approvers?: string;
  /**
   * Rules in addition to the agents' own policies: a file, relative to the current folder, or the rules themselves; see
   * docs/policy.md. @default none
   */
  policy?: string | readonly PolicyRule[];
  /**
   * Prices of models, by the ids that the timeline shows; `*` at the end of an id stands for any letters. Each reply is
   * then recorded with its cost. An agent with a budget of money needs a price for each of its models. @default none
   */
  prices?: Readonly<Record<string, ModelPrice>>;
  /**
   * The number of calls that the server hands out per minute, by the task queue of their tools. The server counts the
   * calls of all workers together, so all workers need the same number. The config's own queue cannot have a limit,
   * because model calls use that queue. @default no limit
   */
  callsPerMinute?: Readonly<Record<string, number>>;
  /** The currency of all `prices` and of budgets of money: three letters. @default 'USD' */
  currency?: string;
  /**
   * Where a worker's metrics go: `host:port` for Prometheus, or the address of an OpenTelemetry collector. @default
   * nowhere
   */
  metrics?: string;
  /** What spans contain besides names, ids and numbers. @default content false: no text of models, people and tools */
  traces?: TraceOptions;
}

/** Settings for the content of a worker's spans. */
export interface TraceOptions {
  /**
   * True: spans have prompts, replies, arguments and results, without the secrets that the worker knows. @default false
   */
  content?: boolean;
}

/** The config of a worker, checked and with every default filled in. Made by `defineConfig` only; immutable. */
export interface Config {
  readonly agents: readonly Agent[];
  readonly taskQueue: string;
  readonly hooks: Hooks;
  readonly log: Readonly<Required<CallLogOptions>>;
  readonly stateDir: string | undefined;
  readonly files: string | undefined;
  readonly agentWaitMs: number;
  readonly runner: Runner;
  readonly secrets: SecretProvider | undefined;
  readonly mcpServers: McpServers | undefined;
  readonly mcpTools: Readonly<Record<string, McpToolSettings>>;
  readonly hookTools: Readonly<Record<string, HookToolSettings>>;
  readonly mcpLock: string;
  readonly approvers: string | undefined;
  readonly policy: string | readonly PolicyRule[] | undefined;
  readonly pricing: Pricing;
  readonly callsPerMinute: Readonly<Record<string, number>>;
  readonly metrics: string | undefined;
  readonly traces: Readonly<Required<TraceOptions>>;
}

const callable = z
  .custom<() => unknown>((value) => typeof value === 'function', 'must be a function')
  .optional();

const price = z.number().nonnegative();

const optionsSchema = z.strictObject({
  agents: z.array(guarded(isAgent, 'must be made with defineAgent')),
  taskQueue: filled.optional(),
  hooks: z.looseObject({ before: callable, after: callable, onError: callable }).optional(),
  log: z.strictObject({ level: z.enum(LOG_LEVELS).optional(), calls: z.boolean().optional() }).optional(),
  stateDir: filled.optional(),
  files: filled.optional(),
  agentWait: duration(0)
    .refine((ms) => ms <= TIMES.startWithin, 'is too long; the most is one hour')
    .optional(),
  runner: z.custom<Runner>((value) => typeof value === 'function', 'must be a function').optional(),
  secrets: z
    .custom<SecretProvider>((value) => typeof value === 'function', 'must be a function of a name')
    .optional(),
  mcpServers: serversSchema.optional(),
  mcpTools: settingsSchema.optional(),
  hookTools: hookToolsSchema.optional(),
  mcpLock: filled.optional(),
  approvers: filled.optional(),
  // The content of the rules is checked when a worker starts, against the tools that the worker has by then.
  policy: z
    .custom<string | readonly PolicyRule[]>(
      (value) => (typeof value === 'string' ? value !== '' : Array.isArray(value)),
      'must be a file or a list of rules',
    )
    .optional(),
  prices: z
    .record(
      filled,
      z.strictObject({
        input: price,
        output: price,
        cachedInput: price.optional(),
        cacheWrite: price.optional(),
      }),
    )
    .optional(),
  callsPerMinute: z.record(filled, z.number().positive().max(6_000_000)).optional(),
  metrics: filled.optional(),
  traces: z.strictObject({ content: z.boolean().optional() }).optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR')
    .optional(),
});

/**
 * Makes the config of a worker.
 *
 * @example
 * export default defineConfig({ agents: [clerk], taskQueue: 'orders', log: { calls: false } });
 * @throws CountersignError `config_invalid`: a wrong option, two agents of one name, or two tools of one name on one queue.
 */
export function defineConfig(options: ConfigOptions): Config {
  const given = checkedOptions(optionsSchema, options, (words) => invalid(words));
  const { taskQueue = TASK_QUEUE, log = {}, stateDir, files, agentWait } = given;
  const { runner = inProcess, secrets, mcpLock = LOCK_FILE, approvers, policy } = given;
  const { mcpServers, mcpTools = {}, hookTools = {}, metrics, prices } = options;
  if (options.agents.length === 0 && mcpServers === undefined && options.hookTools === undefined)
    throw invalid('`agents` must name at least one agent');
  const agents = withSubAgents(given.agents, taskQueue);
  assertAgentsDiffer(agents);
  assertToolsAgree(agents, taskQueue);
  const pricing = { currency: given.currency ?? 'USD', prices: Object.freeze({ ...prices }) };
  for (const agent of agents) assertPriced(agent, pricing);
  const config: Config = {
    agents: Object.freeze([...agents]),
    taskQueue,
    // The hooks stay the given object, because they may be methods that use the object's state.
    hooks: options.hooks ?? {},
    traces: Object.freeze({ content: given.traces?.content ?? false }),
    log: Object.freeze({ level: log.level ?? 'INFO', calls: log.calls ?? true }),
    stateDir,
    files,
    agentWaitMs: agentWait ?? AGENT_WAIT,
    runner,
    secrets,
    mcpServers,
    mcpTools,
    hookTools,
    mcpLock,
    approvers,
    policy: typeof policy === 'object' ? Object.freeze(structuredClone(policy)) : policy,
    pricing,
    callsPerMinute: Object.freeze({ ...given.callsPerMinute }),
    metrics,
  };
  assertLimitsFit(config);
  return asConfig(config);
}

/** Refuses a limit that would apply to no call, to model calls too, or not to all calls of its queue. */
function assertLimitsFit(config: Config): void {
  for (const queue of Object.keys(config.callsPerMinute)) {
    const [held] = statefulTools(config, [queue]);
    const why =
      (queue === config.taskQueue && 'would hold model calls too') ||
      (!queuesOf(config).includes(queue) && 'is for nothing: no tool has it') ||
      (held && `would not hold \`${held.name}\`: where its state is, there is a queue of its own`);
    if (why) throw invalid(`\`callsPerMinute\` of the queue \`${queue}\` ${why}`);
  }
}

/** Requires a price for each model of an agent with a budget of money: unpriced replies would not count. */
function assertPriced(agent: Agent, pricing: Pricing): void {
  const { name, budget } = agent;
  const limited = budget?.money === undefined ? 'sessionBudget' : 'budget';
  if (agent[limited]?.money === undefined) return;
  const ids = modelsOf(agent).map((one) => (typeof one === 'string' ? one : one.id));
  const unpriced = ids.find((id) => priceOf(pricing, id) === undefined);
  if (unpriced !== undefined)
    throw invalid(
      `\`${limited}.money\` of agent ${name} needs a price of the model ${JSON.stringify(unpriced)} in \`prices\``,
    );
}

/** The agents, and the sub-agents of their tools that a worker of this queue has to have. */
function withSubAgents(agents: readonly Agent[], taskQueue: string): Agent[] {
  const all = new Set(agents);
  // The loop also visits agents that are added to the set while it runs.
  for (const agent of all)
    for (const { child } of agent.registry.list()) {
      const isHere = child !== undefined && (child.taskQueue ?? taskQueue) === taskQueue;
      const definition = child === undefined || !isHere ? undefined : definitionOf(child);
      if (definition !== undefined) all.add(definition);
    }
  return [...all];
}

function asConfig(config: Config): Config {
  return Object.freeze(Object.defineProperty(config, CONFIG, { value: true }));
}

/**
 * A copy of the config with other agents.
 *
 * @throws CountersignError `config_invalid` if two tools of one queue have one name.
 */
export function withAgents(config: Config, agents: readonly Agent[]): Config {
  assertToolsAgree(agents, config.taskQueue);
  return asConfig({ ...config, agents: Object.freeze([...agents]) });
}

/**
 * The config that a file's default export means: a Config, one Agent, or a list of Agents.
 *
 * @throws CountersignError `config_invalid` that says what was found instead.
 */
export function toConfig(defaultExport: unknown): Config {
  if (isConfig(defaultExport)) return defaultExport;
  if (isAgent(defaultExport)) return defineConfig({ agents: [defaultExport] });
  if (isAgents(defaultExport)) return defineConfig({ agents: defaultExport });
  throw invalid(
    `the default export is ${found(defaultExport)}`,
    'Export by default what defineAgent or defineConfig returned, or a list of agents.',
  );
}

function isConfig(value: unknown): value is Config {
  return isObject(value) && Reflect.get(value, CONFIG) === true;
}

function isAgents(value: unknown): value is Agent[] {
  return Array.isArray(value) && value.length > 0 && value.every(isAgent);
}

function found(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : 'a list with something in it that is not an agent';
  if (typeof value === 'object')
    return `an object with the keys ${Object.keys(value).slice(0, 10).join(', ') || '(none)'}`;
  return `a ${typeof value}`;
}

function assertAgentsDiffer(agents: readonly Agent[]): void {
  const names = agents.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw invalid(`there are two agents named \`${twice}\``, 'Give each agent a name of its own.');
}

/**
 * Refuses two different tools with one name on one queue, because the name of a tool is its activity type. Two agents
 * may have the same tool in two places, because each call runs with the tool of its agent.
 */
function assertToolsAgree(agents: readonly Agent[], taskQueue: string): void {
  const digests = new Map<string, string>();
  const tools = agents.flatMap(({ registry }) => registry.list());
  for (const { name, digest, declaredDigest = digest, taskQueue: queue = taskQueue } of tools) {
    const place = JSON.stringify([queue, name]);
    if ((digests.get(place) ?? declaredDigest) !== declaredDigest)
      throw invalid(
        `two different tools are named \`${name}\` on the queue \`${queue}\``,
        'Give one of them another name or a task queue of its own.',
      );
    digests.set(place, declaredDigest);
  }
}

function invalid(message: string, hint = 'Correct what is given to defineConfig.'): CountersignError {
  return new CountersignError('config_invalid', `config: ${message}`, hint);
}

/** The config's own queue, and one for each tool that names another. */
export function queuesOf(config: Config): string[] {
  const named = toolsOf(config).map((tool) => tool.taskQueue ?? config.taskQueue);
  return [...new Set([config.taskQueue, ...named])];
}

/** The names that an approvers file is checked against. Tools of MCP servers are known once a worker has connected. */
export function rulesAbout(config: Config) {
  return {
    tools: new Map(toolsOf(config).map((tool) => [tool.name, tool])),
    agents: config.agents.map(({ name }) => name),
    servers: Object.keys(config.mcpServers ?? {}),
  };
}

/** The tools of all agents. */
export function toolsOf(config: Config): Tool[] {
  return config.agents.flatMap((agent) => agent.registry.list());
}

/** The tools of some queues whose calls share state. */
export function statefulTools(config: Config, queues: readonly string[]): Tool[] {
  return toolsOf(config).filter(
    ({ state, taskQueue = config.taskQueue }) => state !== 'call' && queues.includes(taskQueue),
  );
}
