import { defined } from '../contract/defined';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import type { Preview } from '../contract/plan';
import { sha256 } from '../system/sha256';
import { resolveParameters } from './parameters';
import type { CallContext, Classified, Parameters, Spelling, Tool, ToolOptions, Verification } from './types';
import { DAY, LIMITS, RETRY, TIMES } from '../contract/limits';
import { mostAttempts } from '../contract/lost-activity';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../contract/names';
import { EFFECTS, type RetryOptions, SAFETIES, STATES } from '../contract/tool';
import { describeZodIssues, duration, invalidDefinition } from './option-values';
import { LONGEST_TIMER_MS } from './wait-within';

/** The functions of a tool, with arguments of an unknown type. */
interface Functions {
  preview?(args: unknown, context: CallContext): Preview | string | Promise<Preview | string>;
  classify?(args: unknown): Classified | undefined;
  verify?(args: unknown, context: CallContext): Verification | Promise<Verification>;
  handler(args: unknown, context: CallContext): unknown;
}

/**
 * Makes a tool: checks the definition, fills in every default and digests it.
 *
 * @throws CountersignError `config_invalid`, naming the tool and the rule, for a wrong definition.
 * @example
 * const refund = defineTool({
 *   name: 'refund_order',
 *   description: 'Pays an order back. Use it when the customer returned the goods.',
 *   parameters: z.object({ order: z.string(), cents: z.int().positive() }),
 *   safety: 'dangerous',
 *   handler: ({ order, cents }, { idempotencyKey }) => payments.refund(order, cents, idempotencyKey),
 * });
 */
export function defineTool<P extends Parameters>(options: ToolOptions<P>): Tool {
  try {
    return makeTool(options, options);
  } catch (error) {
    throw invalidDefinition('tool', options, error);
  }
}

function makeTool(options: ToolOptions, functions: Functions): Tool {
  const settings = resolveSettings(options);
  const { schema, parse, parsesToJson } = resolveParameters(
    options.parameters,
    options.required,
    settings.jsonTexts,
  );
  const { name, description, safety, effect } = settings;
  const { preview, verify, classify } = functions;
  const tool: Tool = {
    ...settings,
    schema,
    server: 'local',
    digest: digestJson({ name, description, schema, safety, effect }, sha256),
    parse,
    parsesToJson,
    preview: preview && (async (value, context) => toPreview(await preview.call(functions, value, context))),
    verify:
      verify && (async (value, context) => toVerification(await verify.call(functions, value, context))),
    handle: async (value, context) => functions.handler(value, context),
    forCall: undefined,
  };
  if (classify === undefined) return Object.freeze(tool);
  // A tool that was made milder for one call keeps `forCall`: a person may change the arguments, and the tool is then
  // classified anew.
  const whole: Tool = Object.freeze<Tool>({
    ...tool,
    forCall: (value) => asClassified(whole, () => classify.call(functions, value)),
  });
  return whole;
}

/**
 * Adds to the digest of a tool what decides where its calls run and with what rights. A call that was approved for one
 * folder or sandbox then does not run on a worker that has another one. `spelling`: the handler, the rules and people
 * get the arguments in this spelling.
 */
export function inPlace(tool: Tool, place: JsonObject, spelling?: Spelling): Tool {
  const { forCall, parse } = tool;
  return Object.freeze<Tool>({
    ...tool,
    digest: digestJson({ tool: tool.digest, place }, sha256),
    declaredDigest: tool.declaredDigest ?? tool.digest,
    forCall: forCall && ((value) => inPlace(forCall(value), place, spelling)),
    ...(spelling && { spelling, parse: (args) => parse(spelling.spell(args)) }),
  });
}

const classified = z.strictObject({
  safety: z.enum(SAFETIES).optional(),
  effect: z.enum(EFFECTS).optional(),
});

/** Applies the answer of `classify` if it is milder than the tool; returns the tool itself for an invalid answer. */
function asClassified(tool: Tool, classify: () => unknown): Tool {
  const answer = classified.safeParse(unlessThrown(classify));
  if (!answer.success) return tool;
  const safety = milderOf(SAFETIES, tool.safety, answer.data.safety);
  const effect = milderOf(EFFECTS, tool.effect, answer.data.effect);
  // The one attempt of an unsafe tool is not a choice of its author.
  const isMild = tool.effect === 'unsafe' && effect !== 'unsafe';
  const retry = isMild ? Object.freeze(resolveRetry(effect)) : tool.retry;
  return Object.freeze<Tool>({ ...tool, safety, effect, retry });
}

function unlessThrown(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    // The preview or the handler will report the error in the arguments.
    return undefined;
  }
}

function milderOf<T>(mildestFirst: readonly T[], own: T, given: T | undefined): T {
  return given !== undefined && mildestFirst.indexOf(given) < mildestFirst.indexOf(own) ? given : own;
}

const hunk = z.object({
  id: z.string(),
  oldStart: z.number(),
  oldLines: z.number(),
  newStart: z.number(),
  newLines: z.number(),
  lines: z.array(z.string()),
});

const plan = z.object({
  path: z.string(),
  baseHash: z.string().nullable(),
  targetHash: z.string(),
  encoding: z.enum(['utf8', 'latin1', 'utf16le', 'utf16be']),
  hunks: z.array(hunk),
});

const preview = z.union([z.string(), z.object({ text: z.string(), plan: plan.optional() })]);

const verification = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('happened'), content: z.string() }),
  z.object({ outcome: z.literal('did_not') }),
  z.object({ outcome: z.literal('cannot_tell') }),
]);

/**
 * The answer of a tool's `preview`, in its full form.
 *
 * @throws TypeError if the answer is neither text nor a preview.
 */
function toPreview(answer: unknown): Preview {
  const parsed = preview.safeParse(answer);
  if (!parsed.success) throw new TypeError('preview must return a string or { text, plan? }');
  if (typeof parsed.data === 'string') return { text: parsed.data };
  const { text, plan: filePlan } = parsed.data;
  return { text, plan: filePlan };
}

/**
 * The answer of a tool's `verify`.
 *
 * @throws TypeError if the answer is not one of the three outcomes; callers treat an error as `cannot_tell`.
 */
function toVerification(answer: unknown): Verification {
  const parsed = verification.safeParse(answer);
  if (!parsed.success)
    throw new TypeError("verify must return { outcome: 'happened' | 'did_not' | 'cannot_tell' }");
  return parsed.data;
}

/** A tool without its parameters and its functions. */
type ToolSettings = Omit<
  Tool,
  | 'schema'
  | 'digest'
  | 'server'
  | 'parse'
  | 'parsesToJson'
  | 'preview'
  | 'verify'
  | 'handle'
  | 'forCall'
  | 'asks'
>;

/** The most characters of a group's name, which is part of the settings of every call. */
const MOST_GROUP = 100;

/** The least output limit: less could not hold the mark of a cut. */
const LEAST_OUTPUT_BYTES = 128;

/** The shortest heartbeat timeout. A shorter one costs requests, and shows a dead worker no sooner. */
const LEAST_HEARTBEAT_MS = 1000;

/** The longest timeout in whole days. */
const MOST_TIMEOUT_DAYS = Math.floor(LONGEST_TIMER_MS / DAY);

/**
 * Checks the options and fills in the defaults.
 *
 * @throws Error with the broken rule as its message.
 */
function resolveSettings(options: ToolOptions): ToolSettings {
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
    state: given.state ?? 'call',
    stateGroup: given.stateGroup ?? given.name,
    requestExpiresMs: given.requestExpires === undefined ? TIMES.requestExpires : given.requestExpires,
    startWithinMs: given.startWithin ?? TIMES.startWithin,
    noBatch: given.noBatch ?? false,
    noGrant: given.noGrant ?? false,
    outputLimit: given.outputLimit ?? LIMITS.outputBytes,
    jsonTexts: given.jsonTexts ?? false,
  };
  assertRules({ ...settings, isShared: given.shared ?? false, hasGroup: given.stateGroup !== undefined });
  if (given.retry !== undefined && settings.effect === 'unsafe')
    throw new Error('`retry`: an unsafe tool is never retried');
  return { ...settings, retry: Object.freeze(resolveRetry(settings.effect, given.retry)) };
}

type Checked = Omit<ToolSettings, 'retry'> & { isShared: boolean; hasGroup: boolean };

function assertRules(settings: Checked): void {
  const broken = RULES.find(({ breaks }) => breaks(settings));
  if (broken !== undefined) throw new Error(broken.rule);
}

const RULES: readonly { rule: string; breaks(settings: Checked): boolean }[] = [
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
  {
    rule: '`local` and `state` exclude each other: a local call runs on any worker of its turn',
    breaks: ({ local, state }) => local && state !== 'call',
  },
  {
    rule: "`state: 'worker'` is seen by every turn: say `shared: true` if it may be",
    breaks: ({ state, isShared }) => state === 'worker' && !isShared,
  },
  {
    rule: "`shared` goes with `state: 'worker'` only",
    breaks: ({ state, isShared }) => state !== 'worker' && isShared,
  },
  {
    rule: '`stateGroup` needs a `state`',
    breaks: ({ state, hasGroup }) => state === 'call' && hasGroup,
  },
  {
    rule: `\`timeout\` is at most ${MOST_TIMEOUT_DAYS} days`,
    breaks: ({ timeoutMs }) => timeoutMs > MOST_TIMEOUT_DAYS * DAY,
  },
];

function resolveRetry(
  effect: ToolSettings['effect'],
  given: z.output<typeof retrySchema> = {},
): RetryOptions {
  const { initialInterval: initialIntervalMs, maximumInterval: maximumIntervalMs, ...rest } = given;
  const retry = { ...RETRY, ...defined({ ...rest, initialIntervalMs, maximumIntervalMs }) };
  return { ...retry, maximumAttempts: mostAttempts({ effect, retry }) };
}

const retrySchema = z.strictObject({
  maximumAttempts: z.int().min(1).max(1000).optional(),
  initialInterval: duration().optional(),
  backoffCoefficient: z.number().min(1).max(100).optional(),
  maximumInterval: duration().optional(),
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
  timeout: duration().optional(),
  heartbeat: duration(LEAST_HEARTBEAT_MS).optional(),
  retry: retrySchema.optional(),
  taskQueue: z.string().min(1).optional(),
  local: z.boolean().optional(),
  state: z.enum(STATES).optional(),
  stateGroup: z.string().min(1).max(MOST_GROUP).optional(),
  shared: z.boolean().optional(),
  requestExpires: z.union([z.literal('never').transform(() => null), duration()]).optional(),
  startWithin: duration().optional(),
  noBatch: z.boolean().optional(),
  noGrant: z.boolean().optional(),
  jsonTexts: z.boolean().optional(),
  outputLimit: z.int().min(LEAST_OUTPUT_BYTES).max(LIMITS.outputBytesMost).optional(),
  preview: callable.optional(),
  classify: callable.optional(),
  verify: callable.optional(),
  handler: callable,
});

function parseOptions(options: unknown): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new Error(describeZodIssues(parsed.error));
}
