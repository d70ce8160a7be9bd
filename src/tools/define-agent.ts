import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import { LIMITS } from '../contract/limits';
import { ORDERS, type Order } from '../contract/tool';
import type { Model } from '../models/model';
import { toMilliseconds } from './duration';
import { createRegistry, type Registry } from './registry';
import type { Duration, Policy, Tool } from './types';

/** Tells agents from all else, also those of a second copy of this module. */
const AGENT = Symbol.for('countersign.agent');

/** A model may reason for minutes; Temporal retries it when this is over. */
const MODEL_TIMEOUT_MS = 5 * 60 * 1000;

/** What `defineAgent` takes. */
export interface AgentOptions {
  /** Lower-case letters, digits, `_` and `-`; starts with a letter; at most 64. */
  name: string;
  /** The system prompt. */
  instructions: string;
  model: Model;
  /** Models that a fork may name instead, by name. @default none */
  models?: Readonly<Record<string, Model>>;
  tools: readonly Tool[];
  /** Absent: safety decides. */
  policy?: Policy;
  /** How the ready calls of a step are started. @default 'lane' */
  order?: Order;
  limits?: {
    /** Model replies in one turn; at most 10,000. @default 50 */
    steps?: number;
    /** One attempt to get a reply. @default 5 minutes */
    modelTimeout?: Duration;
  };
}

/** An agent, checked and with every default filled in. Made by `defineAgent` only; immutable. */
export interface Agent {
  readonly name: string;
  readonly instructions: string;
  readonly model: Model;
  readonly models: ReadonlyMap<string, Model>;
  readonly registry: Registry;
  readonly policy: Policy | undefined;
  readonly order: Order;
  readonly maxSteps: number;
  readonly modelTimeoutMs: number;
}

const NO_MODEL = 'must be a model: { id, generate }';

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
  policy: z.custom<Policy>((value) => typeof value === 'function', 'must be a function').optional(),
  order: z.enum(ORDERS).optional(),
  limits: z
    .strictObject({
      steps: z.int().min(1).max(10_000).optional(),
      modelTimeout: z.union([z.number(), z.string()], 'must be milliseconds or text such as 30s').optional(),
    })
    .optional(),
});

/**
 * Makes an agent.
 *
 * @throws CountersignError `agent_invalid`, naming the agent and the rule, for a wrong definition.
 */
export function defineAgent(options: AgentOptions): Agent {
  try {
    return makeAgent(options);
  } catch (error) {
    throw invalid(options, error);
  }
}

/** Whether something was made by `defineAgent`. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && Reflect.get(value, AGENT) === true;
}

function makeAgent(options: AgentOptions): Agent {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new Error(parsed.error.issues.map(describe).join('; '));
  const { name, instructions, model, models = {}, policy, order = 'lane', limits = {} } = parsed.data;
  const agent: Agent = {
    name,
    instructions,
    model,
    models: new Map(Object.entries(models)),
    registry: createRegistry(options.tools),
    policy,
    order,
    maxSteps: limits.steps ?? LIMITS.stepsPerTurn,
    modelTimeoutMs: limits.modelTimeout === undefined ? MODEL_TIMEOUT_MS : modelTimeout(limits.modelTimeout),
  };
  return Object.freeze(Object.defineProperty(agent, AGENT, { value: true }));
}

function modelTimeout(given: Duration): number {
  try {
    return toMilliseconds(given);
  } catch (error) {
    throw new Error(`\`limits.modelTimeout\` ${error instanceof Error ? error.message : 'is no time'}`, {
      cause: error,
    });
  }
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

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `\`${path.join('.')}\` ${message}`;
}

function invalid(options: unknown, error: unknown): CountersignError {
  const name: unknown =
    typeof options === 'object' && options !== null && 'name' in options ? options.name : undefined;
  const who =
    typeof name === 'string' && name !== '' ? `agent \`${name.slice(0, 80)}\`` : 'agent without a name';
  return new CountersignError(
    'agent_invalid',
    `${who}: ${error instanceof Error ? error.message : String(error)}`,
    {
      hint: 'Correct the definition given to defineAgent.',
      cause: error,
    },
  );
}
