import { z } from 'zod';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import { type Budget, MOST_AMOUNT } from '../contract/spending/budget';
import { LIMITS, TIMES } from '../contract/limits';
import type { GateMode } from '../contract/think';
import { type JsonSchema, ORDERS } from '../contract/tool';
import { FINAL_FAILURES, MODEL_PROVIDERS, RETRIED_FAILURES } from '../contract/names';
import type { Model, ModelErrorKind } from '../models/model';
import { duration, invalidDefinition, checkedOptions, callable } from './option-values';
import { FIND_TOOLS, findToolsSchema, toToolset } from './builtin/find-tools';
import { type ResolvedParameters, resolveParameters } from './parameters';
import { createRegistry, type Registry } from './registry';
import type { TurnContext } from './hooks';
import type { Duration, Policy, Tool } from './types';
import { guarded } from '../system/guarded';
import { isObject } from '../contract/json';

/** The most steps in a row with the same calls and the same results, unless the agent sets it. */
const REPEATED_STEPS = 8;

/**
 * A session has its oldest turns summarized when its conversation has more tokens than this, unless the agent sets
 * it.
 */
const COMPACT_OVER = 64_000;

/** Marks agents. A symbol of the global registry, so that agents of a second copy of this module are recognised too. */
const AGENT = Symbol.for('countersign.agent');

/** A model may reason for minutes. Temporal retries the model's activity after this time. */
const MODEL_TIMEOUT_MS = 5 * 60 * 1000;

/** A provider that is down usually recovers within minutes. After that a person should know. */
const MODEL_RETRY_FOR_MS = 10 * 60 * 1000;

/** Fallback models, checked and with every default filled in. */
interface Fallback {
  readonly models: readonly (Model | string)[];
  readonly on: ReadonlySet<ModelErrorKind>;
  readonly afterMs: number | undefined;
}

const NAMED = new RegExp(`^(${MODEL_PROVIDERS.join('|')}):.`);
const NO_MODEL = `must be a model { id, generate } with texts in takes and about, or a name provider:model of ${MODEL_PROVIDERS.join(', ')}`;
const modelSchema = guarded(isModel, NO_MODEL);
const modelsSchema = z.array(modelSchema, 'must be a list of models').readonly();

const KINDS = [...RETRIED_FAILURES, ...FINAL_FAILURES] as const;

const fallbackOptions = z.strictObject({
  models: modelsSchema,
  /**
   * The kinds of errors after which the next model is asked. After an error that another attempt may end, the same
   * model is asked again first, for as long as `after`; after other errors the next model is asked immediately.
   *
   * @default ['rate_limit', 'timeout', 'server', 'network']
   */
  on: z
    .array(z.enum(KINDS, `must be one of ${KINDS.join(', ')}`))
    .readonly()
    .optional(),
  /**
   * The time for which we ask a busy, broken or silent model before we ask the next model.
   * @default `limits.modelRetryFor`
   */
  after: duration(0).optional(),
});

/** The models to ask if the previous model does not answer, and when to ask them. */
export interface FallbackOptions extends z.input<typeof fallbackOptions> {}

const fallbackSchema = z
  .union([modelsSchema.transform((models) => ({ models, on: undefined, after: undefined })), fallbackOptions])
  .transform(({ models, on = RETRIED_FAILURES, after }): Fallback => {
    return { models, on: new Set(on), afterMs: after };
  });

const budgetSchema = z.strictObject({
  tokens: z.int().min(1).max(MOST_AMOUNT).optional(),
  money: z.number().positive().max(MOST_AMOUNT).optional(),
  steps: z.int().min(1).max(MOST_AMOUNT).optional(),
  time: duration().optional(),
  then: z.enum(['end', 'ask']).optional(),
});

const optionsSchema = z.strictObject({
  /** Lower-case letters, digits, `_` and `-`; starts with a letter; at most 64. */
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_-]{0,63}$/,
      'must be a lower-case letter, then at most 63 lower-case letters, digits, _ and -',
    ),
  /** The system prompt. */
  instructions: z.string().refine((text) => text.trim() !== '', 'must tell the model what it is for'),
  /**
   * The model: a name such as `openai:gpt-5`, `anthropic:claude-sonnet-4-5` or `google:gemini-2.5-pro`, or a model that
   * `openai`, `anthropic`, `google`, `openaiCompatible`, `offlineModel` or `scriptedModel` made.
   */
  model: modelSchema,
  /** Models that a fork may name instead, by name. @default none */
  models: z.record(z.string().min(1), modelSchema).readonly().default({}),
  /** Models to ask, in this order, if the previous model does not answer. @default none */
  fallback: fallbackSchema.prefault([]),
  /**
   * Tools that `defineTool` made. A pack is a list of tools: spread it. A text names tools of MCP servers, such as
   * `github__*`; the agent gets the named tools that the lock has.
   */
  tools: z.custom<readonly (Tool | string)[]>(Array.isArray, 'must be a list of tools'),
  /**
   * With more tools than `over`, the model is given a core of its tools and `find_tools`, with which it finds the
   * others; see docs/mcp.md. False: the model is always given all tools.
   *
   * @default { over: 40 }, and the core is the agent's own tools
   */
  findTools: findToolsSchema,
  /** Absent: safety decides. */
  policy: callable<Policy>().optional(),
  /** Facts from your own store that the model reads before the conversation; see docs/context.md. @default nothing */
  context: callable<TurnContext>().optional(),
  /** How the ready calls of a step are started. @default 'lane' */
  order: z.enum(ORDERS).default('lane'),
  /**
   * When steps are written to the turn's history. `step`: each model call and each tool call as it ends. `gate`: model
   * calls and pure tool calls in bursts, all other calls as with `step`; a crash costs the steps since the last commit.
   * See docs/durability.md.
   *
   * @default 'step'
   */
  durability: z.enum(['step', 'gate']).optional(),
  /**
   * The time for which a burst takes further steps before it is written; at most 1 minute, and 256 KB. 0: writes after
   * each step.
   *
   * @default '1s'
   */
  commitEvery: duration(0)
    .refine((ms) => ms <= TIMES.commitEveryMost, 'must be at most 1 minute')
    .optional(),
  /**
   * The schema of the answer: a zod object, or a JSON Schema whose root is an object. The model sees the schema. An
   * answer that does not fit goes back to the model once, with the errors; a second such answer fails the turn.
   *
   * @default text
   */
  output: z
    .custom<z.ZodObject | JsonSchema>(
      (value) => typeof value === 'object' && value !== null,
      'must be a schema',
    )
    .optional(),
  limits: z
    .strictObject({
      steps: z.int().min(1).max(10_000).default(LIMITS.stepsPerTurn),
      modelTimeout: duration().default(MODEL_TIMEOUT_MS),
      modelRetryFor: duration().default(MODEL_RETRY_FOR_MS),
      repeats: z.union([z.literal(false), z.int().min(1).max(10_000)]).default(REPEATED_STEPS),
      compactOver: z.union([z.literal(false), z.int().min(1_000)]).default(COMPACT_OVER),
    })
    .prefault({}),
  budget: budgetSchema.optional(),
  sessionBudget: budgetSchema.optional(),
});

/** The options of `defineAgent`. */
export interface AgentOptions extends z.input<typeof optionsSchema> {
  limits?: {
    /** Model replies in one turn; at most 10,000. @default 50 */
    steps?: number;
    /** One attempt to get a reply; at most 9 minutes 45 seconds count. @default 5 minutes */
    modelTimeout?: Duration;
    /**
     * The time for which we ask a busy, broken or silent model for one reply, all attempts and the waits between them
     * together. Errors that another attempt cannot change end the turn immediately.
     *
     * @default 10 minutes
     */
    modelRetryFor?: Duration;
    /**
     * The most steps in a row that may ask for the same calls and get the same results. After them, the calls of a
     * further such step do not run, and the model reads why; after three such steps the turn ends. False: any number.
     *
     * @default 8
     */
    repeats?: number | false;
    /**
     * Tokens that a session carries from turn to turn. Over this number the model writes a summary of the oldest turns;
     * see docs/sessions.md. Choose about half of your model's context window. False: only the limit of 512 KB applies.
     *
     * @default 64000
     */
    compactOver?: number | false;
  };
  /**
   * The most that one turn may spend, its child turns included. The budget is checked before each step. `money` is in
   * the currency of the config, whose `prices` need one for each model of the agent; `time` is time at work, without
   * waiting for people. `then`: once the budget is spent, the turn ends with a message, or a request in the inbox asks
   * for as much again.
   *
   * @default no limit; then: 'end'
   */
  budget?: { tokens?: number; money?: number; steps?: number; time?: Duration; then?: 'end' | 'ask' };
  /**
   * The most that one session may spend, all its turns and summaries together. It is counted and asked for like
   * `budget`.
   *
   * @default no limit; then: 'end'
   */
  sessionBudget?: { tokens?: number; money?: number; steps?: number; time?: Duration; then?: 'end' | 'ask' };
}

type Resolved = z.output<typeof optionsSchema>;

/** An agent, checked and with every default filled in. Made by `defineAgent` only; immutable. */
export interface Agent extends Readonly<
  Pick<
    Resolved,
    'name' | 'instructions' | 'model' | 'fallback' | 'findTools' | 'policy' | 'context' | 'order'
  >
> {
  readonly models: ReadonlyMap<string, Model | string>;
  readonly registry: Registry;
  /** Names of the MCP servers' tools that the agent may use, with `*` for any letters. */
  readonly toolPatterns: readonly string[];
  /** Names of the tools that the model is given at each step, besides tools that it found. Undefined: all tools. */
  readonly core: ReadonlySet<string> | undefined;
  /** Undefined: each model call and each tool call is an activity. */
  readonly gate: GateMode | undefined;
  /** Undefined: the answer is text. */
  readonly output: ResolvedParameters | undefined;
  readonly maxSteps: number;
  readonly modelTimeoutMs: number;
  readonly modelRetryForMs: number;
  /** What a turn may spend; time in milliseconds, money without its currency. Undefined: no limit. */
  readonly budget: Budget | undefined;
  /** What a session may spend, as `budget` has it for a turn. */
  readonly sessionBudget: Budget | undefined;
  /** See `limits.repeats`. Undefined: any number. */
  readonly repeats: number | undefined;
  /** See `limits.compactOver`. Undefined: nothing is summarized. */
  readonly compactOver: number | undefined;
}

/**
 * Makes an agent.
 *
 * @throws CountersignError `config_invalid`, naming the agent and the rule, for a wrong definition.
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
  const given = checkedOptions(optionsSchema, options);
  const { name, instructions, model, fallback, findTools, policy, context, order } = given;
  const { models, limits, budget, sessionBudget } = given;
  const own = given.tools.filter((tool) => typeof tool !== 'string');
  const toolPatterns = given.tools.filter((tool) => typeof tool === 'string').map(requirePattern);
  // Throws for a name in `core` that no tool has: the intended tool would be hidden from the model.
  if (toolPatterns.length === 0 && findTools?.core !== undefined)
    createRegistry(own).list({ names: findTools.core });
  return asAgent({
    ...{ name, instructions, model, fallback, findTools, policy, context, order },
    models: new Map(Object.entries(models)),
    ...equipped(own, findTools),
    toolPatterns: Object.freeze(toolPatterns),
    gate: toGateMode(given),
    output: given.output && resolveParameters(given.output),
    maxSteps: limits.steps,
    modelTimeoutMs: limits.modelTimeout,
    modelRetryForMs: limits.modelRetryFor,
    budget: budget && Object.freeze(defined(budget)),
    sessionBudget: sessionBudget && Object.freeze(defined(sessionBudget)),
    repeats: limits.repeats || undefined,
    compactOver: limits.compactOver || undefined,
  });
}

function equipped(given: readonly Tool[], findTools: Agent['findTools']): Pick<Agent, 'registry' | 'core'> {
  // The registry first checks that all of the values are tools.
  const { tools, core } = toToolset(createRegistry(given).list(), findTools);
  return { registry: createRegistry(tools), core };
}

function asAgent(agent: Agent): Agent {
  return Object.freeze(Object.defineProperty(agent, AGENT, { value: true }));
}

/**
 * A copy of the agent with the tools of its MCP servers added.
 *
 * @throws CountersignError `config_invalid` if two tools have one name, or `findTools` does not fit them.
 */
export function withTools(agent: Agent, more: readonly Tool[]): Agent {
  const own = agent.registry.list().filter(({ name }) => name !== FIND_TOOLS || agent.core === undefined);
  try {
    return asAgent({ ...agent, ...equipped([...own, ...more], agent.findTools) });
  } catch (error) {
    throw error instanceof CountersignError ? error : invalidDefinition('agent', agent, error);
  }
}

/** The pattern requires two underlines, because every name of a server's tool has two underlines. */
const PATTERN = /^[a-z][a-z0-9]*(_[a-z0-9]+)*__[a-z0-9_*]+$/;

function requirePattern(pattern: string) {
  if (PATTERN.test(pattern)) return pattern;
  throw new Error(
    `\`tools\`: ${JSON.stringify(pattern)} is not of the form \`server__tool\` or \`server__*\``,
  );
}

/** All models that an agent may ask. */
export function modelsOf({ model, models, fallback }: Agent): (Model | string)[] {
  return [model, ...models.values(), ...fallback.models];
}

function isModel(value: unknown): value is Model | string {
  if (typeof value === 'string') return NAMED.test(value);
  const { id, generate, takes = [], about = '' } = isObject(value) ? value : {};
  const areTexts = Array.isArray(takes) && [id, about, ...takes].every((one) => typeof one === 'string');
  return areTexts && typeof generate === 'function';
}

/** The gate mode that these options mean. Undefined for `step`. @throws Error if the options do not fit together. */
function toGateMode(given: { durability?: 'step' | 'gate'; commitEvery?: number }): GateMode | undefined {
  const { commitEvery } = given;
  if (given.durability === 'gate') return { commitMs: commitEvery ?? TIMES.commitEvery };
  if (commitEvery === undefined) return undefined;
  throw new Error("`commitEvery`: counts only with `durability: 'gate'`");
}
