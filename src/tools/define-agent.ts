import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import type { Budget, Price } from '../contract/budget';
import { defined } from '../contract/defined';
import { LIMITS } from '../contract/limits';
import { ORDERS, type Order } from '../contract/tool';
import type { Model } from '../models/model';
import { describeIssues, duration, invalidDefinition } from './options';
import {
  FIND_TOOLS,
  findToolsSchema,
  type FindSettings,
  type FindToolsOptions,
  toFindSettings,
  toToolset,
} from './builtin/find-tools';
import { createRegistry, type Registry } from './registry';
import type { TurnContext } from './hooks';
import type { Duration, Policy, Tool } from './types';

/** Tells agents from all else, also those of a second copy of this module. */
const AGENT = Symbol.for('countersign.agent');

/** A model may reason for minutes; Temporal retries it when this is over. */
const MODEL_TIMEOUT_MS = 5 * 60 * 1000;

/** A provider that is down comes back in minutes, or a person wants to know. */
const MODEL_RETRY_FOR_MS = 10 * 60 * 1000;

/** What `defineAgent` takes. */
export interface AgentOptions {
  /** Lower-case letters, digits, `_` and `-`; starts with a letter; at most 64. */
  name: string;
  /** The system prompt. */
  instructions: string;
  /** What answers, such as `openaiCompatible`, `offlineModel` or `scriptedModel`. */
  model: Model;
  /** Models that a fork may name instead, by name. @default none */
  models?: Readonly<Record<string, Model>>;
  /**
   * Made by `defineTool`. A pack is a list of tools: spread it. Text names tools of MCP servers, such as `github__*`; of
   * those the agent gets the ones that the lock has.
   */
  tools: readonly (Tool | string)[];
  /**
   * With more tools than `over`, the model is given a core of them and `find_tools`, by which it finds the others; see
   * docs/mcp.md. False: it is always given all.
   *
   * @default { over: 40 }, and the core is the agent's own tools
   */
  findTools?: boolean | FindToolsOptions;
  /** Absent: safety decides. */
  policy?: Policy;
  /** What the model is to know before the conversation, from a store of your own; see docs/context.md. @default nothing */
  context?: TurnContext;
  /** How the ready calls of a step are started. @default 'lane' */
  order?: Order;
  limits?: {
    /** Model replies in one turn; at most 10,000. @default 50 */
    steps?: number;
    /** One attempt to get a reply; at most 9 minutes 45 seconds count. @default 5 minutes */
    modelTimeout?: Duration;
    /**
     * How long a model that is busy, broken or silent is asked for one reply, all attempts and the waits between them
     * together. Errors that asking again does not change end the turn at once.
     *
     * @default 10 minutes
     */
    modelRetryFor?: Duration;
    /**
     * Steps in a row that ask for the same calls and get the same results. The calls of the next ones do not run, and the
     * model reads why; after three of them the turn ends. False: any number may.
     *
     * @default 8
     */
    repeats?: number | false;
  };
  /**
   * What one turn may spend, its child turns included; looked at before each step. `money` is in the currency of
   * `prices`; `time` is time at work, without waiting for people. `then`: at a crossing the turn ends with words, or a
   * request in the inbox asks for as much again.
   *
   * @default no limit; then: 'end'
   */
  budget?: { tokens?: number; money?: number; steps?: number; time?: Duration; then?: 'end' | 'ask' };
  /** Prices by the id of the model, all in one currency. A budget of money needs one for each model. @default none */
  prices?: Readonly<Record<string, Price>>;
}

/** An agent, checked and with every default filled in. Made by `defineAgent` only; immutable. */
export interface Agent {
  readonly name: string;
  readonly instructions: string;
  readonly model: Model;
  readonly models: ReadonlyMap<string, Model>;
  readonly registry: Registry;
  /** Names of the tools of MCP servers that it may use, with `*` for any letters. */
  readonly toolPatterns: readonly string[];
  /** Undefined: its model is always given all tools. */
  readonly findTools: FindSettings | undefined;
  /** Names of the tools that its model is given at each step, beside those that it found. Undefined: all. */
  readonly core: ReadonlySet<string> | undefined;
  readonly policy: Policy | undefined;
  readonly context: TurnContext | undefined;
  readonly order: Order;
  readonly maxSteps: number;
  readonly modelTimeoutMs: number;
  readonly modelRetryForMs: number;
  /** What a turn may spend; time in milliseconds. Undefined: no limit. */
  readonly budget: Budget | undefined;
  readonly prices: ReadonlyMap<string, Price>;
  /** See `limits.repeats`. Undefined: any number. */
  readonly repeats: number | undefined;
}

const NO_MODEL = 'must be a model: { id, generate }';

/** The most of anything that a budget counts. */
const MOST_AMOUNT = 1e12;

const optionsSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_-]{0,63}$/,
      'must be a lower-case letter, then at most 63 lower-case letters, digits, _ and -',
    ),
  instructions: z.string().refine((text) => text.trim() !== '', 'must tell the model what it is for'),
  model: z.custom<Model>(isModel, NO_MODEL),
  models: z.record(z.string().min(1), z.custom<Model>(isModel, NO_MODEL)).optional(),
  tools: z.array(z.unknown(), 'must be a list of tools'),
  findTools: findToolsSchema.optional(),
  policy: z.custom<Policy>((value) => typeof value === 'function', 'must be a function').optional(),
  context: z.custom<TurnContext>((value) => typeof value === 'function', 'must be a function').optional(),
  order: z.enum(ORDERS).optional(),
  limits: z
    .strictObject({
      steps: z.int().min(1).max(10_000).optional(),
      modelTimeout: duration().optional(),
      modelRetryFor: duration().optional(),
      repeats: z.union([z.literal(false), z.int().min(1).max(10_000)]).optional(),
    })
    .optional(),
  budget: z
    .strictObject({
      tokens: z.int().min(1).max(MOST_AMOUNT).optional(),
      money: z.number().positive().max(MOST_AMOUNT).optional(),
      steps: z.int().min(1).max(MOST_AMOUNT).optional(),
      time: duration().optional(),
      then: z.enum(['end', 'ask']).optional(),
    })
    .optional(),
  prices: z
    .record(
      z.string().min(1),
      z.strictObject({
        inputPerMillion: z.number().min(0).max(MOST_AMOUNT),
        outputPerMillion: z.number().min(0).max(MOST_AMOUNT),
        currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR'),
      }),
    )
    .optional(),
});

/**
 * Makes an agent.
 *
 * @throws CountersignError `agent_invalid`, naming the agent and the rule, for a wrong definition.
 * @example
 * export default defineAgent({
 *   name: 'clerk',
 *   instructions: 'You help customers with their orders.',
 *   model: offlineModel(),
 *   tools: [refund, ...createWorkspaceTools({ root: './letters' })],
 *   policy: ({ arguments: args }) => (Number(args['cents']) > 50_000 ? 'refuse' : 'run'),
 * });
 */
export function defineAgent(options: AgentOptions): Agent {
  try {
    return makeAgent(options);
  } catch (error) {
    throw invalidDefinition('agent', options, error);
  }
}

/** Whether something was made by `defineAgent`. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && Reflect.get(value, AGENT) === true;
}

function makeAgent(options: AgentOptions): Agent {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new Error(describeIssues(parsed.error));
  const {
    name,
    instructions,
    model,
    models = {},
    policy,
    context,
    order = 'lane',
    limits = {},
  } = parsed.data;
  const findTools = toFindSettings(parsed.data.findTools);
  const own = options.tools.filter((tool) => typeof tool !== 'string');
  const toolPatterns = options.tools.filter((tool) => typeof tool === 'string').map(requirePattern);
  if (toolPatterns.length === 0) requireCore(findTools, own);
  const agent: Agent = {
    name,
    instructions,
    model,
    models: new Map(Object.entries(models)),
    ...equipped(own, findTools),
    toolPatterns: Object.freeze(toolPatterns),
    findTools,
    policy,
    context,
    order,
    maxSteps: limits.steps ?? LIMITS.stepsPerTurn,
    modelTimeoutMs: limits.modelTimeout ?? MODEL_TIMEOUT_MS,
    modelRetryForMs: limits.modelRetryFor ?? MODEL_RETRY_FOR_MS,
    budget: budgetOf(parsed.data),
    prices: new Map(Object.entries(parsed.data.prices ?? {})),
    repeats: limits.repeats === false ? undefined : (limits.repeats ?? LIMITS.repeatedSteps),
  };
  return asAgent(agent);
}

/** @throws Error where money could not be counted. */
function budgetOf(options: z.output<typeof optionsSchema>): Budget | undefined {
  const { budget, prices = {}, model, models = {} } = options;
  const currencies = new Set(Object.values(prices).map(({ currency }) => currency));
  if (currencies.size > 1) throw new Error('`prices`: all have to be in one currency');
  if (budget === undefined) return undefined;
  const [currency] = currencies;
  const unpriced = [model, ...Object.values(models)].find(({ id }) => !Object.hasOwn(prices, id));
  if (budget.money !== undefined && unpriced !== undefined)
    throw new Error(
      `\`budget.money\` needs a price of the model ${JSON.stringify(unpriced.id)} in \`prices\``,
    );
  return Object.freeze({ ...defined(budget), ...(budget.money === undefined ? {} : defined({ currency })) });
}

function equipped(
  given: readonly Tool[],
  findTools: FindSettings | undefined,
): Pick<Agent, 'registry' | 'core'> {
  // The registry looks first whether all of them are tools.
  const { tools, core } = toToolset(createRegistry(given).list(), findTools);
  return { registry: createRegistry(tools), core };
}

function asAgent(agent: Agent): Agent {
  return Object.freeze(Object.defineProperty(agent, AGENT, { value: true }));
}

/**
 * The same agent with the tools of its MCP servers.
 *
 * @throws CountersignError `tool_invalid` where two tools have one name; `agent_invalid` where `findTools` does not fit them.
 */
export function withTools(agent: Agent, more: readonly Tool[]): Agent {
  const own = agent.registry.list().filter(({ name }) => name !== FIND_TOOLS || agent.core === undefined);
  try {
    return asAgent({ ...agent, ...equipped([...own, ...more], agent.findTools) });
  } catch (error) {
    throw error instanceof CountersignError ? error : invalidDefinition('agent', agent, error);
  }
}

/** A core that names no tool would be a tool that the model never sees. */
function requireCore(settings: FindSettings | undefined, tools: readonly Tool[]): void {
  if (settings?.core !== undefined) createRegistry(tools).list({ names: settings.core });
}

/** Two underlines, because only then it can be a tool of a server. */
const PATTERN = /^[a-z][a-z0-9]*(_[a-z0-9]+)*__[a-z0-9_*]+$/;

function requirePattern(pattern: string): string {
  if (PATTERN.test(pattern)) return pattern;
  throw new Error(
    `\`tools\`: ${JSON.stringify(pattern)} is not of the form \`server__tool\` or \`server__*\``,
  );
}

function isModel(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'id' in value &&
    typeof value.id === 'string' &&
    'generate' in value &&
    typeof value.generate === 'function'
  );
}
