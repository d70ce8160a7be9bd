import { z } from 'zod';
import { LIMITS, TIMES } from '../contract/limits';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../contract/names';
import { EFFECTS, SAFETIES, type RetryOptions } from '../contract/tool';
import { toMilliseconds } from './duration';
import type { Tool, ToolOptions } from './types';

/** Everything of a tool but its parameters and its functions. */
export type ToolSettings = Omit<
  Tool,
  'schema' | 'digest' | 'server' | 'parse' | 'preview' | 'verify' | 'handle'
>;

/** Less room than this could not hold the mark of a cut. */
const LEAST_OUTPUT_BYTES = 128;

/** A beat costs a request; a worker is never noticed to be dead sooner than in a second. */
const LEAST_HEARTBEAT_MS = 1000;

/** Node fires timers beyond 2³¹−1 ms at once. */
const MOST_TIMEOUT_MS = 24 * 24 * 3600 * 1000;

/**
 * Checks what was given and fills in the defaults.
 *
 * @throws Error with the broken rule as its message.
 */
export function settleSettings(options: ToolOptions): ToolSettings {
  const given = parseOptions(options);
  const safety = given.safety ?? 'safe';
  const local = given.local ?? false;
  const settings = {
    name: given.name,
    description: given.description,
    safety,
    effect: given.effect ?? (safety === 'safe' ? 'pure' : 'unsafe'),
    categories: Object.freeze([...(given.categories ?? [])]),
    timeoutMs: given.timeout ?? (local ? TIMES.localTimeout : TIMES.toolTimeout),
    heartbeatMs: given.heartbeat ?? TIMES.heartbeatTimeout,
    taskQueue: given.taskQueue,
    local,
    requestExpiresMs: given.requestExpires === undefined ? TIMES.requestExpires : given.requestExpires,
    startWithinMs: given.startWithin ?? TIMES.startWithin,
    noBatch: given.noBatch ?? false,
    outputLimit: given.outputLimit ?? LIMITS.outputBytes,
  };
  assertRules(settings, given.retry !== undefined);
  return { ...settings, retry: Object.freeze(settleRetry(settings.effect, given.retry)) };
}

function assertRules(settings: Omit<ToolSettings, 'retry'>, hasRetry: boolean): void {
  const broken = RULES.find(({ breaks }) => breaks(settings));
  if (broken !== undefined) throw new Error(broken.rule);
  if (hasRetry && settings.effect === 'unsafe') throw new Error('`retry`: an unsafe tool is never retried');
}

const RULES: readonly { rule: string; breaks(settings: Omit<ToolSettings, 'retry'>): boolean }[] = [
  { rule: '`local` is for pure tools', breaks: ({ local, effect }) => local && effect !== 'pure' },
  {
    rule: '`local` is not for dangerous tools',
    breaks: ({ local, safety }) => local && safety === 'dangerous',
  },
  {
    rule: `\`local\` tools need a timeout of at most ${TIMES.localTimeout} ms`,
    breaks: ({ local, timeoutMs }) => local && timeoutMs > TIMES.localTimeout,
  },
  {
    rule: '`local` and `taskQueue` exclude each other: a local call runs where its turn runs',
    breaks: ({ local, taskQueue }) => local && taskQueue !== undefined,
  },
  { rule: '`timeout` is at most 24 days', breaks: ({ timeoutMs }) => timeoutMs > MOST_TIMEOUT_MS },
];

type Retry = z.output<typeof retrySchema>;

function settleRetry(effect: ToolSettings['effect'], retry: Retry = {}): RetryOptions {
  const { maximumAttempts = 5, initialInterval = 1000, backoffCoefficient = 2, maximumInterval } = retry;
  return {
    maximumAttempts: effect === 'unsafe' ? 1 : maximumAttempts,
    initialIntervalMs: initialInterval,
    backoffCoefficient,
    ...(maximumInterval === undefined ? {} : { maximumIntervalMs: maximumInterval }),
  };
}

function duration(least: number) {
  return z.union([z.number(), z.string()]).transform((given, context) => {
    try {
      return toMilliseconds(given, least);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error));
      return z.NEVER;
    }
  });
}

const retrySchema = z.strictObject({
  maximumAttempts: z.int().min(1).max(1000).optional(),
  initialInterval: duration(1).optional(),
  backoffCoefficient: z.number().min(1).max(100).optional(),
  maximumInterval: duration(1).optional(),
});

const callable = z.custom<unknown>((value) => typeof value === 'function', 'must be a function');

const optionsSchema = z.strictObject({
  name: z
    .string()
    .regex(TOOL_NAME, 'must be snake_case: a letter, then at most 63 letters, digits and _, all lower case')
    .refine((name) => !RESERVED_TOOL_NAMES.includes(name), 'is reserved; choose another name'),
  description: z
    .string()
    .refine((text) => text.trim() !== '', 'must say what the tool does and when to use it'),
  parameters: z.custom<unknown>(
    (value) => typeof value === 'object' && value !== null,
    'must be a zod object, a JSON Schema or a list',
  ),
  required: z.array(z.string()).optional(),
  safety: z.enum(SAFETIES).optional(),
  categories: z.array(z.string().min(1)).optional(),
  effect: z.enum(EFFECTS).optional(),
  timeout: duration(1).optional(),
  heartbeat: duration(LEAST_HEARTBEAT_MS).optional(),
  retry: retrySchema.optional(),
  taskQueue: z.string().min(1).optional(),
  local: z.boolean().optional(),
  requestExpires: z.union([z.literal('never').transform(() => null), duration(1)]).optional(),
  startWithin: duration(1).optional(),
  noBatch: z.boolean().optional(),
  outputLimit: z.int().min(LEAST_OUTPUT_BYTES).max(LIMITS.outputBytesMost).optional(),
  preview: callable.optional(),
  verify: callable.optional(),
  handler: callable,
});

function parseOptions(options: unknown): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(describe).join('; '));
}

function describe(issue: z.core.$ZodIssue): string {
  const message =
    issue.code === 'invalid_union' ? (issue.errors.at(-1)?.[0]?.message ?? issue.message) : issue.message;
  return issue.path.length === 0 ? message : `\`${issue.path.join('.')}\` ${message}`;
}
