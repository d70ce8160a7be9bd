import { z } from 'zod';
import type { PolicyRule } from '../contract/policy-rule';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import { SECOND, TIMES } from '../contract/limits';
import { TASK_QUEUE } from '../contract/names';
import { priceOf, type Pricing } from '../contract/spending/prices';
import { callLogOptions } from './call-log';
import { definitionOf } from './builtin/agent-tool';
import { isAgent, type Agent, modelsOf } from './define-agent';
import { checkedOptions, duration, callable } from './option-values';
import { type McpServers, type McpToolSettings, serversSchema, settingsSchema } from './mcp/declare';
import { type HookToolSettings, hookToolsSchema } from './permit-tools';
import type { Hooks } from './hooks';
import { inProcess, type Runner } from './run-handler';
import type { SecretProvider } from './secrets';
import type { Tool } from './types';
import { guarded } from '../system/guarded';

/** The time that a turn waits for a worker that has its agent, unless the config sets it. */
const AGENT_WAIT = 600 * SECOND;

/** The default name of the lock file. The file lies beside the config and is reviewed like code. */
const LOCK_FILE = 'countersign.mcp.lock';

const filled = z.string().min(1);

/** Marks configs. The symbol is global, so that configs of a second copy of this module are recognised too. */
const CONFIG = Symbol.for('countersign.config');

const hook = callable().optional();

const price = z.number().nonnegative();

const tracesSchema = z.strictObject({
  /**
   * True: spans have prompts, replies, arguments and results, without the secrets that the worker knows. @default false
   */
  content: z.boolean().default(false),
});

/** Settings for the content of a worker's spans. */
export interface TraceOptions extends z.input<typeof tracesSchema> {}

const optionsSchema = z.strictObject({
  /** May be empty where there are `mcpServers` or `hookTools`, for a config of the gateway. */
  agents: z.array(guarded(isAgent, 'must be made with defineAgent')).readonly(),
  /** Queue of the worker and its turns. @default 'countersign' */
  taskQueue: filled.default(TASK_QUEUE),
  /** Settings of the log lines about calls. @default level INFO, calls true */
  log: callLogOptions.readonly().prefault({}),
  /**
   * The store of the files that are attached to messages: a folder, relative to the current one, or
   * `s3://bucket/prefix`. All workers and all senders of files need the same store.
   *
   * @default `COUNTERSIGN_FILES`; without it models read no files
   */
  files: filled.optional(),
  /**
   * Directory for the worker's records on this machine, relative to the current one.
   *
   * @default the user's own state directory
   */
  stateDir: filled.optional(),
  /**
   * The time that a turn waits for a worker that has its agent when this worker lacks it; at most one hour.
   *
   * @default 10 minutes
   */
  agentWait: duration(0)
    .refine((ms) => ms <= TIMES.startWithin, 'is too long; the most is one hour')
    .default(AGENT_WAIT),
  /** Executes handlers. @default in this process */
  runner: callable<Runner>().default(() => inProcess),
  /** Provides secrets to handlers, by name. Its secrets are redacted from all that leaves the worker. @default none */
  secrets: callable<SecretProvider>('must be a function of a name').optional(),
  /** The lock file with the allowed tools, relative to the current folder. @default 'countersign.mcp.lock' */
  mcpLock: filled.default(LOCK_FILE),
  /**
   * The file that says who may decide what, relative to the current folder; see docs/approvers.md. Workers refuse
   * decisions that the file does not allow. @default none: whoever may reach a turn may decide everything
   */
  approvers: filled.optional(),
  /**
   * Rules in addition to the agents' own policies: a file, relative to the current folder, or the rules themselves; see
   * docs/policy.md. Their content is checked when a worker starts, against the tools that it has by then. @default none
   */
  policy: z
    .custom<string | readonly PolicyRule[]>(
      (value) => (typeof value === 'string' ? value !== '' : Array.isArray(value)),
      'must be a file or a list of rules',
    )
    .optional(),
  /**
   * Prices of models, by the ids that the timeline shows; `*` at the end of an id stands for any letters. Each reply is
   * then recorded with its cost. An agent with a budget of money needs a price for each of its models. @default none
   */
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
    .readonly()
    .prefault({}),
  /**
   * The number of calls that the server hands out per minute, by the task queue of their tools. The server counts the
   * calls of all workers together, so all workers need the same number. The config's own queue cannot have a limit,
   * because model calls use that queue. @default no limit
   */
  callsPerMinute: z.record(filled, z.number().positive().max(6_000_000)).readonly().prefault({}),
  /** The currency of all `prices` and of budgets of money: three letters. @default 'USD' */
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR')
    .default('USD'),
  /**
   * Where a worker's metrics go: `host:port` for Prometheus, or the address of an OpenTelemetry collector. @default
   * nowhere
   */
  metrics: filled.optional(),
  /** What spans contain besides names, ids and numbers. @default content false: no text of models, people and tools */
  traces: tracesSchema.readonly().prefault({}),
  // Those below stay as they are given: see KeptOptions.
  hooks: z.looseObject({ before: hook, after: hook, onError: hook }).optional(),
  mcpServers: serversSchema.optional(),
  mcpTools: settingsSchema.optional(),
  hookTools: hookToolsSchema.optional(),
});

/** The options that a config keeps as they are given: objects with state of their own, and what is checked again. */
interface KeptOptions {
  hooks: Hooks;
  /**
   * MCP servers by name, or the path of a `.mcp.json`, relative to the current folder. A worker uses only what
   * `countersign mcp allow` wrote to the lock. @default none
   */
  mcpServers?: McpServers;
  /**
   * Settings of single tools of MCP servers, by their names here (`server__tool`). A server's own statements about the
   * safety of its tools are never believed. @default dangerous and unsafe
   */
  mcpTools: Readonly<Record<string, McpToolSettings>>;
  /**
   * A coding agent's own tools whose calls wait for a decision, by the agent's names, such as `Bash`; see
   * docs/hooks.md. @default none
   */
  hookTools: Readonly<Record<string, HookToolSettings>>;
}

/** The options of `defineConfig`. */
export interface ConfigOptions
  extends Omit<z.input<typeof optionsSchema>, keyof KeptOptions>, Partial<KeptOptions> {}

type Resolved = Omit<z.output<typeof optionsSchema>, keyof KeptOptions | 'agentWait' | 'prices' | 'currency'>;

/** The config of a worker, checked and with every default filled in. Made by `defineConfig` only; immutable. */
export interface Config extends Readonly<Resolved>, Readonly<KeptOptions> {
  readonly agentWaitMs: number;
  readonly pricing: Pricing;
}

/**
 * Makes the config of a worker.
 *
 * @example
 * export default defineConfig({ agents: [clerk], taskQueue: 'orders', log: { calls: false } });
 * @throws CountersignError `config_invalid`: a wrong option, two agents of one name, or two tools of one name on one queue.
 */
export function defineConfig(options: ConfigOptions): Config {
  const given = checkedOptions(optionsSchema, options, (words) => invalid(words));
  const { hooks = {}, mcpServers, mcpTools = {}, hookTools = {} } = options;
  const { agentWait: agentWaitMs, prices, currency, policy, ...same } = given;
  if (given.agents.length === 0 && mcpServers === undefined && options.hookTools === undefined)
    throw invalid('`agents` must name at least one agent');
  const agents = withSubAgents(given.agents, given.taskQueue);
  assertAgentsDiffer(agents);
  assertToolsAgree(agents, given.taskQueue);
  const pricing = { currency, prices };
  for (const agent of agents) assertPriced(agent, pricing);
  const config: Config = {
    ...same,
    hooks,
    mcpServers,
    mcpTools,
    hookTools,
    agents: Object.freeze(agents),
    agentWaitMs,
    policy: typeof policy === 'object' ? Object.freeze(structuredClone(policy)) : policy,
    pricing,
  };
  assertLimitsFit(config);
  return asConfig(config);
}

/** Refuses a limit that would apply to no call, to model calls too, or not to all calls of its queue. */
function assertLimitsFit(config: Config) {
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
function assertPriced(agent: Agent, pricing: Pricing) {
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

function found(value: unknown) {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : 'a list with something in it that is not an agent';
  if (typeof value === 'object')
    return `an object with the keys ${Object.keys(value).slice(0, 10).join(', ') || '(none)'}`;
  return `a ${typeof value}`;
}

function assertAgentsDiffer(agents: readonly Agent[]) {
  const names = agents.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw invalid(`there are two agents named \`${twice}\``, 'Give each agent a name of its own.');
}

/**
 * Refuses two different tools with one name on one queue, because the name of a tool is its activity type. Two agents
 * may have the same tool in two places, because each call runs with the tool of its agent.
 */
function assertToolsAgree(agents: readonly Agent[], taskQueue: string) {
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

function invalid(message: string, hint = 'Correct what is given to defineConfig.') {
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
